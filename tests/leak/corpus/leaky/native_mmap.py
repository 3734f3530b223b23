"""Anonymous mappings that are never unmapped."""

# kind: native-memory
# line: 25
import ctypes
import mmap
import time

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_long,
]
SIZE = 256 * 1024


def decode(step):
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    address = libc.mmap(None, SIZE, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
    ctypes.memset(address, step % 256, SIZE)  # <-
    return address


for step in range(400):
    decode(step)
    time.sleep(0.003)
