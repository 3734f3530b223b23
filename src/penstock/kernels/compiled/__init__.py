"""Kernels that Numba compiles, without the GIL and cached on disk.

Importing one of these modules loads Numba, so it is done by the function that first needs it.
"""
