"""Rows gathered by key, and each full group reduced: what `group_by_window` and its kin run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any

import numpy as np

from penstock.blocks.block import Block
from penstock.errors import ArgumentError, DataError, ElementError
from penstock.functions.function import user_function
from penstock.functions.nested import DatasetFunction
from penstock.graph.op import Op
from penstock.graph.running import Context, Input, Running
from penstock.memory.rowlog import RowLog
from penstock.ops.parts.dropped import let_go
from penstock.ops.parts.kept_rows import Holds, Kept, KeptRows, Wrap
from penstock.ops.parts.keys import whole
from penstock.ops.parts.measured import Measured
from penstock.ops.parts.trail import Trail, mark_of, said


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

    __slots__ = ("count", "first", "kept", "size")

    def __init__(self, kept: Kept, size: int) -> None:
        self.first = 0  # the element of the input that its first row is
        self.kept = kept
        self.size = size
        self.count = 0

    @property
    def left(self) -> int:
        """So many rows more make it full."""
        return self.size - self.count

    def keep(self, block: Block, places: list[int]) -> None:
        """Keep these rows of a block, which have been counted."""
        first, last = places[0], places[-1]
        together = last - first == len(places) - 1
        self.kept.log.append(block.slice(first, last + 1) if together else block.take(np.array(places)))


class Unsorted:
    """A block whose rows go to their groups one by one, `places` those that a group has not got yet."""

    __slots__ = ("block", "elements", "first", "places")

    def __init__(self, block: Block, first: int) -> None:
        self.block = block
        self.first = first  # the element of the input that its first row is
        self.elements = enumerate(block.elements())
        self.places: dict[int, list[int]] = {}


class RunningGroups(Running):
    """Keeps rows by key until a group is full, then gives the rows of the dataset made of it."""

    def __init__(self, op: Op, context: Context, grouping: Grouping) -> None:
        self._op = op
        self._context = context
        self._grouping = grouping
        self._trail = Trail(context.input(), self._oldest, self._about)
        self._upstream = Measured(self._trail, context)
        self._key = user_function(grouping.key, op, context)
        self._size = user_function(grouping.size, op, context)
        self._reduce = DatasetFunction(grouping.reduce, op, context, "reduce_func")
        self._groups: dict[int, Group] = {}
        self._sizes: dict[int, int] = {}
        self._holds = Holds()
        self._rest: Unsorted | None = None
        self._full: int | None = None
        self._current: Input | None = None
        self._error: ElementError | None = None
        self._least = grouping.least
        self._seen = self._opened = 0
        self._given = 0  # elements of the dataset that is being read
        self._most_given = 0  # of one dataset that has been read
        self._ended = False
        self._flushed: int | None = None  # the last key whose group was not full, after the end

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
                    self._given += block.rows
                    return self._reduce.checked(block)
                self._most_given = max(self._most_given, self._given)
                self._current.close()
                self._current = None
            elif self._full is not None:
                key, self._full = self._full, None
                self._flush(key)
            elif self._ended:
                self._context.track.take(self.state)
                if not self._groups:
                    return None
                self._full = self._flushed = min(self._groups)
            else:
                if self._rest is None:
                    self._context.track.take(self.state)
                self._gather(rows)

    def _gather(self, wanted: int) -> None:
        """Sort some rows of the input into their groups, until one is full; `wanted` elements are to come."""
        if self._rest is None and not self._read(self._needed(wanted)):
            self._ended = True
        else:
            self._sort()

    def _read(self, rows: int) -> bool:
        """Have up to so many rows of the input at hand; False if there are none."""
        block = self._upstream.pull(rows)
        if block is not None:
            self._rest = Unsorted(block, self._trail.element - block.rows)
        return block is not None

    def _needed(self, wanted: int) -> int:
        """No fewer rows make so many elements, if no group gives more of them than those so far."""
        groups = -(-wanted // self._most_given) if self._most_given else 1
        if groups == 1:
            return self._least
        least = self._grouping.least
        near = nsmallest(groups, (left for group in self._groups.values() if (left := group.left) < least))
        return sum(near) + (groups - len(near)) * least

    def _sort(self) -> None:
        """Go on with the rows at hand, up to one that fills its group, or fails."""
        rest, key_of = self._rest, self._key
        assert rest is not None
        for at, element in rest.elements:
            number, self._seen = self._seen, self._seen + 1
            try:
                key = whole(key_of(element, number), "a key", key_of, number)
                group = self._groups.get(key) or self._new_group(key, number)
            except ElementError as error:
                self._error = self._explained(error)
                break
            rest.places.setdefault(key, []).append(at)
            if not group.count:
                group.first = rest.first + at
            group.count += 1
            left = group.size - group.count
            if left < self._least:
                self._least = left
            if not left:
                group.keep(rest.block, rest.places.pop(key))
                self._full = key
                break
        if at == rest.block.rows - 1:
            for key, places in rest.places.items():
                self._groups[key].keep(rest.block, places)
            self._rest = None

    def _oldest(self) -> int:
        return min((group.first for group in self._groups.values()), default=self._trail.element)

    def _about(self) -> Any:
        return {"seen": self._seen, "counts": [[key, group.count] for key, group in self._groups.items()]}

    def state(self) -> Any:
        return {
            "from": said(self._trail.before(self._oldest())),
            "until": self._trail.element,
            "opened": self._opened,
            "ended": self._ended,
            "flushed": self._flushed,
        }

    def restore(self, state: Any) -> None:
        mark = mark_of(state["from"])
        self._trail.go_back(mark)
        self._seen = mark.about["seen"]
        for key, count in mark.about["counts"]:
            # Its first rows are not there: it will be full, and gone, before all have been read again.
            self._new_group(key, self._seen).count = count
        self._least = self._fewest()
        while (left := state["until"] - self._trail.element) or self._rest is not None:
            self._read_again(left)
        self._opened, self._ended, self._flushed = state["opened"], state["ended"], state["flushed"]
        for key in [key for key in self._groups if self._flushed is not None and key <= self._flushed]:
            self._groups.pop(key).kept.close()

    def _read_again(self, left: int) -> None:
        """Sort rows into groups as before, without what came of the full ones."""
        try:
            there = self._rest is not None or self._read(left)
        except ElementError as error:
            let_go(error)
            return
        if not there:
            raise ArgumentError(
                f"{self._context.where}: expected the input to be as it was when the state was taken, but it "
                f"has fewer elements. Begin anew: ds.iterate()."
            )
        self._sort()
        if self._error is not None:
            let_go(self._error)
            self._error = None
        if self._full is not None:
            self._groups.pop(self._full).kept.close()
            self._full, self._least = None, self._fewest()

    def _fewest(self) -> int:
        """No group is full with fewer rows more."""
        return min([self._grouping.least, *(group.left for group in self._groups.values())])

    def _explained(self, error: ElementError) -> ElementError:
        cause = error.__cause__
        if not isinstance(cause, TooLongError):
            return error
        label = self._context.label
        return DataError(
            f"{self._context.where}: element {error.number}: {cause}", op=label, number=error.number
        )

    def _new_group(self, key: int, number: int) -> Group:
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
        self._least = self._fewest()
        number, self._opened = self._opened, self._opened + 1
        self._given = 0
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
