"""Rows gathered by key, and each full group reduced: what `group_by_window` and its kin run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.errors import DataError, ElementError
from penstock.functions.function import user_function
from penstock.functions.nested import DatasetFunction
from penstock.graph.op import Op
from penstock.graph.running import Context, Input, Running
from penstock.memory.rowlog import RowLog
from penstock.ops.parts.kept_rows import Holds, Kept, KeptRows, Wrap
from penstock.ops.parts.keys import whole
from penstock.ops.parts.measured import Measured


@dataclass(frozen=True)
class Grouping:
    """How rows are grouped: the functions of the op, and the words for them in messages."""

    key: Callable[..., Any]
    reduce: Callable[..., Any]
    size: Callable[..., Any]
    wrap: Wrap
    least: int
    """No group is full with fewer rows."""


class TooLongError(ValueError):
    """A key function of Penstock's own says that the element is at fault, and why."""


class Group:
    """The rows of one key that wait for the group to be full."""

    __slots__ = ("count", "kept", "size")

    def __init__(self, kept: Kept, size: int) -> None:
        self.kept = kept
        self.size = size
        self.count = 0


class RunningGroups(Running):
    """Keeps rows by key until a group is full, then gives the rows of the dataset made of it."""

    def __init__(self, op: Op, context: Context, grouping: Grouping) -> None:
        self._op = op
        self._context = context
        self._grouping = grouping
        self._upstream = Measured(context.input(), context)
        self._key = user_function(grouping.key, op, context)
        self._size = user_function(grouping.size, op, context)
        self._reduce = DatasetFunction(grouping.reduce, op, context, "reduce_func")
        self._groups: dict[int, Group] = {}
        self._sizes: dict[int, int] = {}
        self._holds = Holds()
        self._rest: Block | None = None
        self._full: int | None = None
        self._current: Input | None = None
        self._error: ElementError | None = None
        self._least = grouping.least
        self._seen = self._opened = 0
        self._ended = False

    def pull(self, rows: int) -> Block | None:
        while True:
            for kept in self._holds.worked_off():
                kept.close()
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            if self._current is not None:
                block = self._current.pull(rows)
                if block is not None:
                    return self._reduce.checked(block)
                self._current.close()
                self._current = None
            elif self._full is not None:
                key, self._full = self._full, None
                self._flush(key)
            elif self._ended:
                if not self._groups:
                    return None
                self._full = min(self._groups)
            else:
                self._gather()

    def _gather(self) -> None:
        """Sort some rows of the input into their groups, until one is full."""
        block, self._rest = self._rest, None
        if block is None:
            block = self._upstream.pull(self._least)
        if block is None:
            self._ended = True
            return
        used = 0
        places: dict[int, list[int]] = {}
        for element in block.elements():
            number, self._seen = self._seen, self._seen + 1
            used += 1
            try:
                key = whole(self._key(element, number), "a key", self._key, number)
                group = self._group(key, number)
            except ElementError as error:
                self._error = self._explained(error)
                break
            places.setdefault(key, []).append(used - 1)
            group.count += 1
            self._least = min(self._least, group.size - group.count)
            if group.count == group.size:
                self._full = key
                break
        for key, at in places.items():
            self._groups[key].kept.log.append(_rows(block, np.array(at, np.int64)))
        if used < block.rows:
            self._rest = block.slice(used, block.rows)

    def _explained(self, error: ElementError) -> ElementError:
        cause = error.__cause__
        if not isinstance(cause, TooLongError):
            return error
        label = self._context.label
        return DataError(
            f"{self._context.where}: element {error.number}: {cause}", op=label, number=error.number
        )

    def _group(self, key: int, number: int) -> Group:
        group = self._groups.get(key)
        if group is None:
            if key not in self._sizes:
                said = self._size.call((np.int64(key),), number)
                self._sizes[key] = whole(said, "a window size", self._size, number, least=1)
            context = self._context
            log = RowLog(context.account, context.scratch, context.empty, context.note)
            kept = Kept(log, f"{context.label} at {self._op.site}")
            group = self._groups[key] = Group(kept, self._sizes[key])
        return group

    def _flush(self, key: int) -> None:
        """Start the dataset that the user's function makes of a group."""
        group = self._groups.pop(key)
        sizes = [other.size - other.count for other in self._groups.values()]
        self._least = min(sizes, default=self._grouping.least)
        self._least = min(self._least, self._grouping.least)
        number, self._opened = self._opened, self._opened + 1
        rows = KeptRows(
            hold=self._holds.new(group.kept, group.kept),
            first=0,
            count=group.count,
            known=self._op.inputs[0].spec,
            site=self._op.site,
        )
        dataset = self._grouping.wrap(rows, self._context.options)
        self._current = self._reduce.open_for((np.int64(key), dataset), number)

    def close(self) -> None:
        self._rest = self._current = None
        for group in self._groups.values():
            group.kept.close()
        for _, kept in self._holds.alive.values():
            kept.close()
        self._groups = {}


def _rows(block: Block, at: NDArray[np.int64]) -> Block:
    if at[-1] - at[0] == len(at) - 1:
        return block.slice(int(at[0]), int(at[-1]) + 1)
    return block.take(at)
