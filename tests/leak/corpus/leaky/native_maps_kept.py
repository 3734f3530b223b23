"""Maps of memory in a list of a class."""

# kind: growing-container
# line: 16
import mmap
import time


class Blocks:
    maps = []

    @classmethod
    def take(cls):
        m = mmap.mmap(-1, 1 << 18)
        m[:] = b"x" * (1 << 18)
        cls.maps.append(m)  # <-


for step in range(300):
    Blocks.take()
    time.sleep(0.01)
