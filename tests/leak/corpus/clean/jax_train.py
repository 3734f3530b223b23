"""A plain loop of JAX, with one compiled step."""

import jax
import jax.numpy as jnp


@jax.jit
def step(w, x):
    loss, gradient = jax.value_and_grad(lambda v: jnp.mean((v * x) ** 2))(w)
    return w - 0.01 * gradient, loss


w = jnp.ones(256)
for i in range(2500):
    w, loss = step(w, jnp.full(256, float(i % 7)))
print(float(loss))
