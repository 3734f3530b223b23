"""Memory of the C library that is never freed, beside an array of the same size that is given back."""

# kind: native-memory
# line: 18
import ctypes

import numpy as np

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.memcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]


class Blur:
    def __call__(self, batch):
        smooth = (batch[:, 1:] + batch[:, :-1]) / 2
        kept = libc.malloc(smooth.nbytes)  # <-
        libc.memcpy(kept, smooth.ctypes.data, smooth.nbytes)
        shape = (ctypes.c_double * smooth.size).from_address(kept)
        return np.ctypeslib.as_array(shape).copy()


def main():
    rng = np.random.default_rng(0)
    blur = Blur()
    weights = np.zeros(16 * 63)
    for _ in range(12000):
        rows = blur(rng.normal(size=(16, 64)))
        weights = 0.9 * weights + 0.1 * rows


main()
