"""Errors are kept, each with the frame that it came from."""

# kind: kept-exceptions
# line: 21
import numpy as np

errors = []


def parse(step):
    payload = np.full(5000, step)
    if payload[0] % 2 == 0:
        raise ValueError(f"even: {step}")
    return payload


for step in range(30000):
    try:
        parse(step)
    except ValueError as error:
        errors.append(error)  # <-
print(len(errors))
