"""Memory of the C library that is freed."""

import ctypes

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]

held = []
for step in range(200000):
    held.append(libc.malloc(5000 + step % 3000))
    if len(held) > 200:
        for one in held:
            libc.free(one)
        held = []
for one in held:
    libc.free(one)
