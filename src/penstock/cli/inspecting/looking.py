"""How far to look, and what is said meanwhile."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import cast

from penstock.errors import DataError
from penstock.graph.running import Context
from penstock.io.stores.decompress import Stream, stream_of
from penstock.io.stores.opening import open_stored
from penstock.io.stores.stored import Stored
from penstock.memory.sizes import show_bytes

AFTER, EVERY = 1.0, 0.2
"""Seconds before progress is shown, and between two times."""


@dataclass
class Progress:
    """A line on the terminal that says how far it is; nothing where there is no terminal."""

    shown: bool = field(default_factory=lambda: sys.stderr.isatty())
    _began: float = field(default_factory=lambda: time.monotonic())
    _last: float = 0.0
    _wrote: bool = False

    def step(self, path: str, done: int, total: int) -> None:
        """Say that so many bytes of a file are read."""
        now = time.monotonic()
        if not self.shown or now - self._began < AFTER or now - self._last < EVERY:
            return
        self._last, self._wrote = now, True
        part = f"{100 * done // max(total, 1)} % of {show_bytes(total)}"
        name = path if len(path) <= 40 else "..." + path[-37:]
        sys.stderr.write(f"\r\x1b[K{name}: {part}")
        sys.stderr.flush()

    def end(self) -> None:
        """Take the line away."""
        if self._wrote:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._wrote = False


@dataclass(frozen=True)
class Looking:
    """What the user asked for."""

    records: int | None = None
    """Look at the first so many of each file; None: at all."""
    samples: int = 3
    progress: Progress = field(default_factory=lambda: Progress(shown=False))


@dataclass(frozen=True)
class _Named:
    """How streams call whoever reads them."""

    label: str = "inspect"
    where: str = "inspect"


NAMED = cast(Context, _Named())


class Counted(Stored):
    """A stored file that says to `progress` how far it is read."""

    def __init__(self, stored: Stored, progress: Progress) -> None:
        self.path, self.size, self.stamp, self.slow = stored.path, stored.size, stored.stamp, stored.slow
        self._stored = stored
        self._progress = progress

    def read_into(self, start: int, out: memoryview) -> int:
        count = self._stored.read_into(start, out)
        self._progress.step(self.path, start + count, self.size)
        return count

    def close(self) -> None:
        self._stored.close()


def open_file(path: str, progress: Progress) -> Stored:
    """A file of this machine or of a store."""
    return Counted(open_stored(path), progress)


def open_bytes(path: str, compression: str | None, progress: Progress) -> Stream:
    """The bytes of a file in order, unpacked."""
    return stream_of(open_file(path, progress), compression, NAMED)


def words(error: BaseException) -> str:
    """What an error says, without where: that is told beside it."""
    text = str(error)
    at = text.find("expected ")
    return text[at:] if isinstance(error, DataError) and at >= 0 else text


def plural(count: int, unit: str) -> str:
    """A number of things.

    >>> plural(1, "record"), plural(1234, "record"), plural(2, "batch"), plural(2, "entry")
    ('1 record', '1,234 records', '2 batches', '2 entries')
    """
    if count != 1:
        unit = unit[:-1] + "ies" if unit.endswith("ry") else unit + ("es" if unit.endswith("ch") else "s")
    return f"{count:,} {unit}"
