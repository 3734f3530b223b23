"""Data where people keep it: `ps.io`, what reads, parses, decodes and writes it."""

__all__: list[str] = []
