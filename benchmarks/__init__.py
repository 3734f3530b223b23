"""Penstock beside tf.data, PyTorch's DataLoader and Grain: speed, and memory seen from outside.

`python -m benchmarks` from the root of the repository runs everything and writes `RESULTS.md`.
"""
