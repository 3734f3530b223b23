"""Errors are caught, counted and dropped."""

import numpy as np

failed = 0


def parse(step):
    payload = np.full(5000, step)
    if step % 3 == 0:
        raise ValueError(f"bad row {step}")
    return payload.sum()


for step in range(40000):
    try:
        parse(step)
    except ValueError as error:
        message = str(error)
        failed += 1
print(failed, message)
