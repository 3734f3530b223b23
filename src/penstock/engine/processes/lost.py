"""How a worker was lost, in words: what killed it, what it was at, and what it held."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from penstock.engine.meter import Meter
from penstock.errors import WorkerError
from penstock.memory.cgroup import contents, files_upwards
from penstock.memory.sizes import show_bytes

RECENT = 0.1
"""Seconds."""
TRIES = 3
"""So many times a worker is started, and so many are lost at one element, before that counts as failed."""


class WorkerLost(Exception):  # noqa: N818
    """A worker died, or was ended because it was stuck, while it was at a row."""

    def __init__(self, how: str, row: int, *, by_itself: bool = True) -> None:
        super().__init__(how)
        self.row = row
        self.by_itself = by_itself
        """Whether it may be the row's fault, and the server was not lost with all its workers."""


class Losses:
    """Tells the report of workers that were lost, in one line that is kept up to date."""

    def __init__(self, meter: Meter, where: str, label: str) -> None:
        self._meter = meter
        self._where = where
        self._label = label
        self._lock = threading.Lock()
        self._count = 0
        self._said = ""

    def say(self, lost: WorkerLost, number: int | None, numbers: NDArray[np.int64]) -> None:
        """One more was lost, with these elements; at which of them, if that is known."""
        first, last = int(numbers[0]), int(numbers[-1])
        rows = f"with elements {first} to {last}" if len(numbers) > 1 else f"at element {first}"
        if number is not None and len(numbers) > 1:
            rows = f"at element {number}, with those from {first} to {last}"
        with self._lock:
            self._count += 1
            text = f"{self._count} of its workers lost and replaced; the last one {rows}: {lost}"
            notes = self._meter.notes
            if self._said in notes:  # others come and go
                notes[notes.index(self._said)] = text
            else:
                notes.append(text)
            self._said = text

    def failure(self, lost: str, number: int) -> WorkerError:
        """What becomes of an element at which too many were lost; how the last of them was."""
        return WorkerError(
            f"{self._where}: {TRIES} worker processes were lost at element {number}, one after another. "
            f"Of the last one: {lost}. Look at what the function does with this element, and at the memory "
            f"that it takes.",
            op=self._label,
            number=number,
        )


def how_it_ended(status: int | None, *, memory: int, by_limit: bool, stuck: float | None) -> str:
    """What became of a worker, from its status as `os.waitpid` gives it; None if nobody could tell."""
    held = f", it held {show_bytes(memory)} when last seen" if memory else ""
    if stuck is not None:
        return f"it was stuck for more than {stuck:g} s (Options(worker_timeout=)){held}"
    if status is None:
        return f"its server was killed{held}"
    if not os.WIFSIGNALED(status):
        return f"it ended by itself, with status {os.waitstatus_to_exitcode(status)}{held}"
    number = os.WTERMSIG(status)
    why = ""
    if by_limit:
        why = ": the memory limit of the container was reached"
    elif number == signal.SIGKILL:
        why = ", which the system also does when memory runs out"
    return f"it was killed by {_named(number)}{why}{held}"


def _named(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def memory_kills(root: Path = Path("/")) -> int:
    """How many processes the memory limits of this process's control groups have killed so far."""
    return max(_kills(root), default=0)


class _Kills:
    """What `memory_kills` has said last: many workers are started at once, and it reads several files."""

    def __init__(self) -> None:
        self._count = 0
        self._at = -RECENT

    def now(self) -> int:
        """As many as there are."""
        self._count, self._at = memory_kills(), monotonic()
        return self._count

    def recently(self) -> int:
        """As many as there were a moment ago, or when it was last seen how a worker ended."""
        return self._count if monotonic() - self._at < RECENT else self.now()


kills = _Kills()


def _kills(root: Path) -> Iterator[int]:
    texts = [
        *files_upwards(root, "memory.events"),
        *files_upwards(root, "memory.oom_control", controller="memory"),
    ]
    for line in (line for text in texts for line in text.splitlines()):
        name, _, count = line.partition(" ")
        if name == "oom_kill" and count.isdigit():
            yield int(count)


def resident(pid: int) -> int:
    """The bytes of memory that a process has now; 0 if it is gone."""
    try:
        return int((contents(f"/proc/{pid}/statm") or "").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (IndexError, ValueError):
        return 0
