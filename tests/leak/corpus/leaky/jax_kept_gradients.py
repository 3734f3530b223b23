"""Gradients in a dict, by step."""

# kind: jax-arrays
# line: 21
import jax
import jax.numpy as jnp

grads_log = {}


@jax.jit
def update(w):
    g = jnp.sin(w)
    return w - 0.1 * g, g


def loop(n):
    w = jnp.ones((256, 256))
    for step in range(n):
        w, g = update(w)
        grads_log[step] = g  # <-


loop(1000)
