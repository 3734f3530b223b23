"""Shared memory that is neither closed nor unlinked."""

# kind: shared-memory
# line: 10
from multiprocessing import shared_memory
import time

segments = []
for step in range(150):
    segment = shared_memory.SharedMemory(create=True, size=200_000)  # <-
    segment.buf[:] = bytes(200_000)
    segments.append(segment)
    time.sleep(0.006)
print(len(segments))
for segment in segments:
    segment.close()
    segment.unlink()
