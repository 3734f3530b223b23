"""What a `cache` has stored: shared by all runs of its dataset, and kept between them."""

from __future__ import annotations

import copy
import threading
import weakref
from pathlib import Path
from typing import Any

from penstock.blocks.block import Block
from penstock.errors import ArgumentError, ElementError
from penstock.graph.fingerprint import first_difference
from penstock.graph.running import Context
from penstock.memory.rowfile import RowFile, write_rows
from penstock.memory.rowlog import RowLog
from penstock.memory.spill import Scratch

STAYS = 8 << 20
"""So many bytes may stay in memory while no run is open."""


def stand_in(error: ElementError) -> ElementError:
    """An error that says the same, and holds on to no frame of the run that met the first one."""
    same = copy.copy(error)
    try:
        same.__cause__ = copy.copy(error.__cause__)
    except Exception:  # a user's exception need not be one that can be copied
        same.__cause__ = None
    return same


class CacheStore:
    """The rows stored so far, in memory and in a scratch file, or in a file of the user's.

    The lock is held for every call but `use_file`, `enter` and `leave`, which take it themselves.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.errors: list[tuple[int, ElementError]] = []
        """Failed elements of the input, each with the number of rows before it."""
        self.complete = False
        self.epoch: int | None = None
        """The epoch of the pass that is stored: whoever goes on with it goes on in that one."""
        self._first: int | None = None
        """The epoch to store, where that is known before it begins."""
        self._first_seeds: int | None = None
        """Those of the first run after that was said: with others it does not hold."""
        self._seeds = 0
        """Those of the run which stored the first row."""
        self._log: RowLog | None = None
        self._scratch: Scratch | None = None
        self._file: RowFile | None = None
        self._path: Path | None = None
        self._fingerprint: list[tuple[str, str]] = []
        self._runs: dict[int, Context] = {}
        self._owner = 0

    def __reduce__(self) -> tuple[Any, ...]:
        return CacheStore, ()  # a copy in another process fills a cache of its own

    @property
    def rows(self) -> int:
        """How many rows are stored."""
        if self._file is not None:
            return self._file.rows
        return 0 if self._log is None else self._log.rows

    @property
    def row_bytes(self) -> int:
        """About the bytes of one row."""
        return 1 if self._log is None else self._log.row_bytes

    @property
    def empty(self) -> bool:
        """Whether nothing is stored."""
        return not (self.rows or self.errors or self.complete)

    def holds(self, epoch: int | None, seeds: int) -> bool:
        """Whether what is stored is of that epoch, and was made with these seeds; a file is of all."""
        return self._file is not None or (self.epoch == epoch and self._seeds == seeds)

    def go_on_with(self, epoch: int) -> None:
        """If nothing is stored yet, store the elements of that epoch, whichever the next one is."""
        with self.lock:
            if self.empty and not self._runs:
                self.epoch, self._first, self._first_seeds = None, epoch, None

    def use_file(self, path: Path, fingerprint: list[tuple[str, str]], where: str) -> None:
        """Read from this file if it is there, and else write it when all rows have come."""
        with self.lock:
            self._path, self._fingerprint = path, fingerprint
            if self._file is not None:
                self._file.open()
            elif self.rows == 0 and path.exists():
                self._file = RowFile(path)
                self._check(self._file, where)
                self.complete = True
            elif not path.parent.is_dir():
                raise ArgumentError(f"{where}the folder {path.parent} does not exist. Make it first.")

    def _check(self, file: RowFile, where: str) -> None:
        differs = first_difference(self._fingerprint, file.about)
        if differs:
            file.close()
            self._file = None
            raise ArgumentError(
                f"{where}the file {file.path} was written by another pipeline: {differs}. Delete "
                f"the file, or give this cache another filename."
            )

    def enter(self, run: object, context: Context, seeds: int) -> None:
        """A run begins to use the store; `seeds` stands for those before it."""
        with self.lock:
            if not self.complete and not self._runs and seeds != self._seeds:
                # Another seed above may mean other rows: half of one pass and half of another.
                self._forget()
            if self._first_seeds is None:
                self._first_seeds = seeds
            elif self._first_seeds != seeds:
                self._first = None
            if self.empty:
                self._seeds = seeds
            if self.epoch is None:
                self.epoch = context.epoch if self._first is None else self._first
            self._runs[id(run)] = context
            if len(self._runs) == 1:
                self._attach(id(run))

    def leave(self, run: object) -> None:
        """A run has ended: what it had in memory goes to another run, or to the file."""
        with self.lock:
            owned = self._log is not None and self._owner == id(run)
            if owned and self._log is not None:
                self._log.detach(STAYS)
            self._runs.pop(id(run), None)
            if owned and self._runs:
                self._attach(next(iter(self._runs)))
            if self._file is not None and not self._runs:
                self._file.close()

    def _attach(self, run: int) -> None:
        self._owner = run
        if self._log is not None:
            context = self._runs[run]
            self._log.attach(context.account, context.empty, context.note)

    def read(self, start: int, rows: int) -> Block:
        """From 1 up to `rows` of the stored rows."""
        if self._file is not None:
            return self._file.read(start, rows)
        assert self._log is not None
        return self._log.read(start, rows)

    def append(self, block: Block) -> None:
        """Store more rows."""
        if self._log is None:
            context = self._runs[self._owner]
            self._log = RowLog(context.account, self._own_scratch, context.empty, context.note)
        self._log.append(block)

    def finish(self, context: Context) -> None:
        """All rows have come."""
        self.complete = True
        if self._log is not None:
            self._log.seal()
        if self._path is None or self._file is not None:
            return
        if self.errors:
            context.note(f"does not write {self._path}, because {len(self.errors)} elements failed")
            return
        self._file = write_rows(self._path, self._fingerprint, self._log)
        if self._log is not None:
            self._log.close()
            self._log = None

    def _forget(self) -> None:
        if self._log is not None:
            self._log.close()
            self._log = None
        self.errors.clear()
        self.epoch = None

    def _own_scratch(self) -> Scratch:
        if self._scratch is None:
            context = self._runs[self._owner]
            self._scratch = Scratch(context.options.scratch)
            weakref.finalize(self, self._scratch.close)
        return self._scratch
