"""When the compiled kernels that quicken work which NumPy does as well are loaded.

Loading Numba takes part of a second and some 64 MiB, and compiling for the first time on a machine a few
seconds, in which NumPy goes on. So a thread of its own does it, and only in a process that has enough of such
work, and a budget beside which it does not show.
"""

from __future__ import annotations

import os
import sys
import threading

WORTH = 64 << 20
"""They are loaded after so many bytes of work."""
ENOUGH = 2 << 30
"""The least budget of a run that has them loaded."""

SOON = 16 << 20
"""The bytes of work that NumPy takes about as long for as loading takes, where it is that much slower."""
AMPLE = 512 << 20
"""The least budget of a run in which they are had at once for that."""
PATIENCE = 1.0
"""Seconds that who wants them waits: beside threads that compute, loading takes five times as long."""

_ready = False
_seen = _come = 0
_budget = ENOUGH
_loader: threading.Thread | None = None


def ready() -> bool:
    """Whether the kernels are there."""
    return _ready


def want(nbytes: int, budget: int) -> None:
    """Say that so much was done without them, in a run of that budget: in time, they are loaded."""
    global _seen, _loader
    if _loader is not None or budget < ENOUGH:
        return
    _seen += nbytes
    if _seen >= WORTH:
        # It ends by itself, and the interpreter waits for it at its end: LLVM must not be cut off.
        _loader = threading.Thread(target=load, name="penstock-load")
        _loader.start()
        _loader.join(PATIENCE)


def held_to(budget: int) -> None:
    """Say that a run of that budget begins: until the next one does, functions are called for it."""
    global _budget
    _budget = budget


def earned(nbytes: int) -> bool:
    """Whether a kernel that is many times as quick as NumPy is to be had at once, at the price of Numba.

    That is where Numba is there already, or once `SOON` bytes of such work have come to this process and the
    run that began last has an `AMPLE` budget.
    """
    global _come
    if "numba" in sys.modules:
        return True
    _come += nbytes
    return _come >= SOON and _budget >= AMPLE


def load() -> None:
    """Load the kernels, and compile them if they never were on this machine."""
    global _ready
    from penstock.kernels.compiled import order, pixels

    order.load()
    pixels.load()
    _ready = True


def _wait() -> None:
    """A process must not be forked in the middle: the child would find locks that nobody opens."""
    if _loader is not None and _loader is not threading.current_thread():
        _loader.join()


os.register_at_fork(before=_wait)
