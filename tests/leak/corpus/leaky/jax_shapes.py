"""Every batch has another shape."""

# kind: jax-compile
# line: 18
import jax
import jax.numpy as jnp
import numpy as np


@jax.jit
def score(v):
    return jnp.tanh(v).sum()


total = 0.0
for n in range(1, 90):
    batch = np.ones(n, np.float32)
    total += float(score(batch))  # <-
print(total)
