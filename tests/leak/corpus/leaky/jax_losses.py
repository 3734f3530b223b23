"""Losses are kept as arrays of JAX."""

# kind: jax-arrays
# line: 19
import jax
import jax.numpy as jnp


@jax.jit
def step(w, x):
    loss = jnp.mean((w * x) ** 2)
    return w - 0.01 * loss, loss


w = jnp.ones(256)
losses = []
for i in range(3000):
    w, loss = step(w, jnp.full(256, float(i % 7)))
    losses.append(loss)  # <-
print(float(losses[-1]))
