"""A pipeline without its first elements, which are not made where that can be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penstock.blocks.block import Block
from penstock.blocks.spec import Spec
from penstock.graph.op import Op
from penstock.graph.running import Context, Running
from penstock.ops.skip import Skip


def behind(op: Op, count: int) -> Op:
    """The elements of `op` after the first `count`, with the numbers and the randomness that they have."""
    if not count:
        return op
    return _from_source(op, count) or Skip(inputs=(op,), count=count)


def _from_source(op: Op, count: int) -> Op | None:
    """The pipeline over a source that begins in its middle; None where not all ops allow that."""
    if op.traits.random_access and not op.traits.costly_access:
        return FromMiddle(inputs=op.inputs, source=op, count=count, site=op.site)
    # What lets a shuffle pass without a trace does not mind that rows are left out before it either.
    if not op.traits.one_to_one or not op.hoistable:
        return None
    above = _from_source(op.inputs[0], count)
    return above and replace(op.with_carried_numbers(), inputs=(above,))


@dataclass(frozen=True, eq=False, kw_only=True)
class FromMiddle(Op):
    """A source with random access, from the row `count` on; it stands in the place of the source."""

    source: Op
    count: int

    name = "from_middle"

    def start(self, context: Context) -> Running:
        return RunningFromMiddle(self.source.start(context), self.count)

    def find_spec(self) -> Spec | None:
        return self.source.spec

    def find_cardinality(self) -> int:
        whole = self.source.cardinality
        return whole if whole < 0 else max(whole - self.count, 0)


class RunningFromMiddle(Running):
    """Gathers the rows in order; each has the number that it has in the whole."""

    replays = "what is written is read from its first row on"

    def __init__(self, source: Running, count: int) -> None:
        self._source = source
        self._at = count
        self._left = count

    def pull(self, rows: int) -> Block | None:
        size: int = self._source.size  # type: ignore[attr-defined]
        block = self._passed(rows) if size < 0 else self._gathered(rows, size)
        if block is None:
            return None
        numbers = np.arange(self._at, self._at + block.rows)
        self._at += block.rows
        return Block(block.structure, block.columns, block.rows, numbers)

    def _gathered(self, rows: int, size: int) -> Block | None:
        index = np.arange(self._at, min(self._at + rows, size))
        return self._source.gather(index) if len(index) else None  # type: ignore[attr-defined]

    def _passed(self, rows: int) -> Block | None:
        """For a source that cannot gather just now: read past the first rows."""
        while self._left:
            passed = self._source.pull(min(rows, self._left))
            if passed is None:
                return None
            self._left -= passed.rows
        return self._source.pull(rows)

    def state(self) -> Any:
        return None

    def restore(self, state: Any) -> None:
        assert state is None, "it begins at its beginning"

    def close(self) -> None:
        self._source.close()
