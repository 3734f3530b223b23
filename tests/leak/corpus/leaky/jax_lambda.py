"""A new function is given to jit at every step."""

# kind: jax-compile
# line: 15
import jax
import jax.numpy as jnp

x = jnp.arange(64.0)
kept = {}


def run(i):
    f = jax.jit(lambda v: jnp.sin(v) * i + 1)
    kept[i] = f
    return f(x)  # <-


for i in range(70):
    y = run(i)
print(float(y.sum()))
