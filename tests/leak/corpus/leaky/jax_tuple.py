"""A tuple that is replaced by a longer one."""

# kind: jax-arrays
# line: 18
import jax
import jax.numpy as jnp


@jax.jit
def step(w, x):
    return w * 0.999, jnp.tanh(x @ w)


w = jnp.ones((32, 64))
history = ()
for i in range(1500):
    w, y = step(w, jnp.full((16, 32), i * 0.01))
    history = (*history, y)  # <-
print(len(history))
