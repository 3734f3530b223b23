"""Numbers of bytes as people read them."""

from __future__ import annotations


def show_bytes(count: int | float) -> str:
    """A number of bytes in the unit that fits it.

    >>> show_bytes(67108864)
    '64 MiB'
    >>> show_bytes(1500)
    '1.46 KiB'
    """
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(size) < 1024 or unit == "TiB":
            return f"{size:.3g} {unit}" if abs(size) < 1000 else f"{size:.0f} {unit}"
        size /= 1024
    raise AssertionError("unreachable")
