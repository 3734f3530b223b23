"""Rows that a run keeps, as a dataset: the rows of one window, or of one group."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from penstock.blocks.block import Block
from penstock.blocks.spec import Spec
from penstock.blocks.structure import LEAF
from penstock.errors import ClosedError
from penstock.graph.op import Op
from penstock.graph.running import Context, Pipeline, Running
from penstock.kernels.spans import Empty
from penstock.memory.noted import NotedRef
from penstock.memory.rowlog import RowLog
from penstock.ops.parts.assembly import joined
from penstock.options import Options

LITTLE = 256 << 10
"""So many bytes of rows, and no more, are read at once."""
Wrap = Callable[[Op, Options], Pipeline]
"""Makes a dataset of an op: the `Dataset` class, which ops may not import."""


class Kept:
    """A log of rows that datasets read from. It ends with the run, and they with it."""

    def __init__(self, log: RowLog, owner: str) -> None:
        self.log = log
        self._owner = owner
        self._closed = False

    def read(self, start: int, rows: int, leaf: int | None) -> Block:
        """From 1 up to `rows` rows from `start` on; one leaf of them, or all."""
        if not self._closed:
            try:
                return self.log.read(start, rows, leaf)
            except IndexError:
                if not self._closed:  # otherwise another thread has closed it this moment
                    raise
        raise ClosedError(
            f"The rows of this dataset were kept by {self._owner} for a run that has ended. Read "
            f"it while that run goes on, or take its elements along instead: list(dataset)."
        )

    def close(self) -> None:
        """Forget the rows; who reads them from now on gets a `ClosedError`."""
        self._closed = True
        self.log.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"A dataset whose rows are kept by {self._owner} lives in its run and cannot be "
            f"pickled. Pickle its elements instead: list(dataset)."
        )


class Hold:
    """What the datasets of one window or group share: their rows are kept while it lives."""

    __slots__ = ("__weakref__", "kept")

    def __init__(self, kept: Kept) -> None:
        self.kept = kept


class Holds:
    """The holds that are alive, oldest first, each with what it holds on to.

    A hold may die at any moment, also in the middle of an update of the ledger. So its death only
    leaves a note, and `worked_off` gives what has been let go of.
    """

    def __init__(self) -> None:
        self.alive: dict[int, tuple[NotedRef, Any]] = {}
        self._dead: deque[NotedRef] = deque()
        self._count = 0

    def new(self, kept: Kept, what: Any) -> Hold:
        """A hold on `what`."""
        hold = Hold(kept)
        ref = NotedRef(hold, self._dead.append)
        ref.key = self._count
        self._count += 1
        self.alive[ref.key] = (ref, what)
        return hold

    def worked_off(self) -> list[Any]:
        """What the holds that have died since the last call held on to."""
        gone = []
        while self._dead:
            gone.append(self.alive.pop(self._dead.popleft().key)[1])
        return gone


@dataclass(frozen=True, eq=False, kw_only=True)
class KeptRows(Op):
    """`count` kept rows from `first` on, every `stride`th; one leaf of them, or all."""

    hold: Hold = field(repr=False)
    first: int
    count: int
    stride: int = 1
    leaf: int | None = None
    known: Spec | None = field(default=None, repr=False)

    name = "kept_rows"

    def start(self, context: Context) -> Running:  # noqa: ARG002
        return RunningKeptRows(self)

    def at_once(self, empty: Empty) -> Block | None:
        if self.hold.kept.read(self.first, 1, self.leaf).nbytes * self.count > LITTLE:
            return None
        rows, parts, size = RunningKeptRows(self), [], 0
        while (part := rows.pull(self.count)) is not None:
            parts.append(part)
            size += part.nbytes
            if size > LITTLE:  # others are larger than the first
                return None
        return parts[0] if len(parts) == 1 else joined(parts, empty)

    def find_spec(self) -> Spec | None:
        if self.known is None or self.leaf is None:
            return self.known
        return Spec(LEAF, [self.known.leaves[self.leaf]])

    def find_cardinality(self) -> int:
        return self.count


class RunningKeptRows(Running):
    """Reads on from where it stands."""

    exact = True

    def __init__(self, op: KeptRows) -> None:
        self._op = op
        self._at = 0

    def pull(self, rows: int) -> Block | None:
        op = self._op
        rows = min(rows, op.count - self._at)
        if rows <= 0:
            return None
        start = op.first + self._at * op.stride
        block = op.hold.kept.read(start, (rows - 1) * op.stride + 1, op.leaf)
        if op.stride > 1:
            block = block.take(np.arange(0, block.rows, op.stride))
        self._at += block.rows
        return block

    def state(self) -> Any:
        return {"at": self._at}

    def restore(self, state: Any) -> None:
        self._at = state["at"]
