"""Every now and then a validation that needs much more memory."""

import numpy as np

rng = np.random.default_rng(0)
best = 1e9
for step in range(6000):
    x = rng.random(2000)
    if step % 600 == 599:
        outputs = [rng.random(20000) for _ in range(300)]
        best = min(best, float(np.mean([o.mean() for o in outputs])))
        del outputs
print(best)
