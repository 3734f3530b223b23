"""The memory of this process, for the examples to print."""

from __future__ import annotations

import os
from pathlib import Path


def held() -> str:
    """The memory that this process has now, as text."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return f"{pages * os.sysconf('SC_PAGE_SIZE') / 2**20:,.0f} MiB in this process"
