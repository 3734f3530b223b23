"""Formats: bytes to blocks, one small file each."""
