"""Descriptors that no Python object has."""

# kind: file-descriptors
# line: 10
import os
import time

total = 0
for step in range(150):
    read_end, write_end = os.pipe()  # <-
    os.write(write_end, b"x" * 10)
    total += len(os.read(read_end, 10))
    time.sleep(0.006)
print(total)
