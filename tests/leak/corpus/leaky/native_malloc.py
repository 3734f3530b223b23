"""Memory of the C library that is never freed."""

# kind: native-memory
# line: 22
import ctypes

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
libc.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]


def scratch(size):
    block = libc.malloc(size)
    libc.memset(block, 1, size)
    libc.free(block)


def step(i):
    scratch(100_000)
    kept = libc.malloc(3000)  # <-
    libc.memset(kept, i % 256, 3000)
    return sum(range(300))


for i in range(30000):
    step(i)
