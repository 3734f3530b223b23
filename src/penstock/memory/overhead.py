"""What the process has beside the bytes that a ledger counts: mostly freed memory that the C library keeps.

Arrays that users' code makes come from the C library and go back to it. It keeps what is freed, for every
thread apart, and the more the larger they were. A run asks for it where the budget has no room for it, and
at its end.
"""

from __future__ import annotations

import ctypes
import mmap
from pathlib import Path

ALLOWED = 8 << 20
"""So many freed bytes may be kept beside a full budget, and after the run."""
MOST_STEP = 16 << 20
STATM = Path("/proc/self/statm")


class Overhead:
    """Looks now and then at how much memory the process has, and asks for what is free of it."""

    def __init__(self, budget: int) -> None:
        self.step = max(1 << 20, min(budget // 32, MOST_STEP))
        """After so many freed bytes it is time to look."""
        self._budget = budget
        self._other: int | None = None
        """What the process has that is not the run's, as far as is known."""

    def look(self, held: int, lent: int) -> None:
        """See how much memory the process has, while the ledger counts `held` and `lent` bytes."""
        beside = self._beside(held + lent)
        if self._other is None or beside < self._other:
            self._other = beside
        most = self._other + ALLOWED + max(0, self._budget - held)
        if beside <= most:
            return
        return_free_memory()
        beside = self._beside(held + lent)
        if beside > most:
            # What is there all the same is the user's, or the free end of another thread's heap, which
            # trimming leaves out: it is not asked for again and again.
            self._other = beside

    def end(self, held: int, lent: int) -> None:
        """The run is over: have back what was freed."""
        if self._other is not None and self._beside(held + lent) > self._other + ALLOWED:
            return_free_memory()

    def _beside(self, counted: int) -> int:
        return anonymous_memory() - counted


def anonymous_memory() -> int:
    """The bytes of this process that are in memory and not of a file; 0 where that is not known."""
    try:
        words = STATM.read_bytes().split()
    except OSError:
        return 0
    return (int(words[1]) - int(words[2])) * mmap.PAGESIZE


def return_free_memory() -> None:
    """Have the C library hand its free pages back to the operating system, where it can."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
