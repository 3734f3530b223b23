"""Whether worker processes are worth it: rows have to get there and back, and workers have to be started."""

from __future__ import annotations

import sys

from penstock.engine.taken import Taken

LEAST = 0.3
"""Seconds: where all calls that are left take less, a worker process would come too late. If those of earlier
runs took as long, it comes in time for the next run."""
NEAR = 0.05
"""The same where there is a server, which forks workers in milliseconds."""
HOLDS = 0.4
"""The share of its time for which a function holds Python's lock, from which on threads are of no use."""
SHARE = 1.0
"""The share of all time for which threads can have the lock, divided by how many want it: to hand it on takes
time as well, and the more of it the more cores are asleep."""
UNSURE, SURE = 0.03, 0.01
"""A share of time so small may be none at all: on few cores, and on many, of which each is disturbed less."""
FEW = 4
"""So many cores are few."""
GAIN = 1.3
"""Worker processes are to be so many times as quick as threads."""
LARGER, CORES = 4, 4
"""Blocks for worker processes are as many times as large as there are `CORES`, up to `LARGER`: one process
hands over those of all, which takes it a millisecond a block, large or small."""
ROOM = 16
"""Then the budget has room for so many of them for each core."""
START = 0.1
"""Seconds until there is a worker process, where there is no server."""
SOON = 0.03
"""Seconds: where what is left of the first rows takes less, they come first. To start a server holds up calls
that are made here, by some 10 ms."""
COPIED = 1e-9
"""Seconds that a byte takes to a worker and back."""


def holds_lock(taken: Taken) -> bool:
    """Whether calls hold Python's lock for so long that threads are of no use."""
    return taken.held >= HOLDS


def gained(taken: Taken, cores: int) -> bool:
    """Whether worker processes are quicker, though rows have to get there and back."""
    if taken.held < (UNSURE if cores <= FEW else SURE):
        return False
    threads = min(cores, max(1.0, SHARE / cores / taken.held))
    processes = cores / (1 + COPIED * taken.row_bytes / taken.each)
    return processes > GAIN * threads


def enough_left(rows: int, before: int, each: float) -> bool:
    """Whether calls with so many rows take long enough; fewer than none if nobody knows how many there are.

    `before` were called in this run and those before it.
    """
    left = rows * each
    if rows < 0 or left >= LEAST:
        return True
    return left >= NEAR if server_is_there() else left >= START and before * each >= LEAST


def soon(rows: int, each: float) -> bool:
    """Whether calls with so many rows, the rest of the first batch, come before a server is started."""
    return rows * each < SOON and not server_is_there()


def larger(cores: int, blocks: int) -> int:
    """How many times as large blocks for workers are, where the budget has room for so many others."""
    return max(1, min(cores // CORES, LARGER, blocks // (ROOM * cores)))


def server_is_there() -> bool:
    """Whether workers come in milliseconds."""
    module = sys.modules.get("penstock.engine.processes.serving")
    serving = getattr(module, "serving", None)  # another thread may be importing it
    return serving is not None and serving.has(())
