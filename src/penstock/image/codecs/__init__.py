"""Compressed images: what their headers say, and their pixels. `ps.io` and `ps.image` are built on it."""
