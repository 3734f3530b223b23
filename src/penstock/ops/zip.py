"""`Dataset.zip`: elements of several datasets side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.blocks.block import Block
from penstock.blocks.spec import Spec
from penstock.blocks.structure import Structure, structure_of
from penstock.errors import ArgumentTypeError, ElementError
from penstock.graph import checks
from penstock.graph.op import INFINITE, UNKNOWN, Op
from penstock.graph.running import Context, Input, Pipeline, Running
from penstock.graph.track import State, Track
from penstock.kernels.spans import Empty
from penstock.ops.parts.dropped import let_go
from penstock.site import user_site


@dataclass(frozen=True, eq=False, kw_only=True)
class Zip(Op):
    """Elements of `nest`, with an element of each input in the place of a leaf."""

    nest: Structure = field(repr=False)

    name = "zip"

    def start(self, context: Context) -> Running:
        return RunningZip(self, context)

    def at_once(self, empty: Empty) -> Block | None:
        blocks = [block for above in self.inputs if (block := above.at_once(empty)) is not None]
        if len(blocks) < len(self.inputs) or len({block.rows for block in blocks}) > 1:
            return None
        structure = filled(self.nest, [block.structure for block in blocks])
        return Block(structure, [column for block in blocks for column in block.columns], blocks[0].rows)

    def find_spec(self) -> Spec | None:
        specs = [above.spec for above in self.inputs]
        known = [spec for spec in specs if spec is not None]
        if len(known) < len(specs):
            return None
        structure = filled(self.nest, [spec.structure for spec in known])
        return Spec(structure, [leaf for spec in known for leaf in spec.leaves])

    def find_cardinality(self) -> int:
        counts = [above.cardinality for above in self.inputs]
        if UNKNOWN in counts:
            return UNKNOWN
        return min((count for count in counts if count != INFINITE), default=INFINITE)


def filled(nest: Structure, structures: Sequence[Structure]) -> Structure:
    """The nest with these structures in the places of its leaves."""
    return _filled(nest, iter(structures))


def _filled(nest: Structure, structures: Iterator[Structure]) -> Structure:
    if nest.is_leaf:
        return next(structures)
    return replace(nest, children=tuple(_filled(child, structures) for child in nest.children))


def nest_of(args: tuple[Any, ...], datasets: Any) -> tuple[Structure, list[Pipeline]]:
    """The nest that `zip` was given, and the datasets in it, in order."""
    if bool(args) == (datasets is not None):
        came = "both" if args else "none"
        raise ArgumentTypeError(
            f"zip at {user_site()}: expected datasets, or `datasets=` a nest of them, got {came}."
        )
    nest = (args[0] if len(args) == 1 else args) if args else datasets
    _refuse_lists(nest)
    structure = structure_of(nest)
    found = structure.flatten(nest)
    for path, dataset in zip(structure.paths(), found, strict=True):
        if not isinstance(dataset, Pipeline):
            where = f" at {path}" if path else ""
            raise ArgumentTypeError(
                f"zip at {user_site()}: expected datasets, or a tuple or dict of them, got "
                f"{checks.shown(dataset)}{where}.{checks.how_to_convert(dataset)}"
            )
    if not found:
        raise ArgumentTypeError(f"zip at {user_site()}: expected datasets in it, got {nest!r}.")
    return structure, found


def _refuse_lists(nest: Any) -> None:
    if isinstance(nest, list):
        raise ArgumentTypeError(
            f"zip at {user_site()}: expected datasets, or a tuple or dict of them, got a list. "
            f"Use a tuple: zip((a, b)), or zip(a, b)."
        )
    if isinstance(nest, tuple | dict):
        for part in nest.values() if isinstance(nest, dict) else nest:
            _refuse_lists(part)


class Lane:
    """One input of a zip, and what it has given that the others have not matched yet."""

    def __init__(self, upstream: Input) -> None:
        self.upstream = upstream
        self.block: Block | None = None
        self.error: ElementError | None = None
        self.ended = False
        self._track = Track()

    def state(self) -> State:
        """Where the input stood before the row, or the error, at hand."""
        return self.upstream.state() if self._track.at is None else self._track.ahead()

    def restore(self, state: State) -> None:
        """Go to where another one stood."""
        self.upstream.restore(state)
        self._track.stand(state)

    def fill(self, rows: int) -> int:
        """Have something at hand; how many rows there are before an end or an error."""
        if self.block is None and self.error is None and not self.ended:
            if self._track.at is None:
                self._track.stand(self.upstream.state())
            self._track.take(self.upstream.state)
            try:
                self.block = self.upstream.pull(rows)
                self.ended = self.block is None
            except ElementError as error:
                self.error = error.with_traceback(None)  # its frames hold blocks
        return 0 if self.block is None else self.block.rows

    def cut(self, rows: int) -> Block:
        """Hand over the first rows."""
        block = self.block
        assert block is not None
        self.block = block.slice(rows, block.rows) if rows < block.rows else None
        self._track.passed(rows)
        return block.slice(0, rows)

    def drop(self, *, unless: ElementError) -> None:
        """Pass over one element, to stay in step with another lane that failed with `unless`."""
        if self.error is None:
            self.cut(1)
            return
        if self.error is not unless:
            let_go(self.error)
        self.error = None
        self._track.passed(1)


class RunningZip(Running):
    """Matches blocks of different sizes row by row, without copying.

    An element that fails in one input takes along its neighbours in the others.
    """

    exact = True

    def __init__(self, op: Zip, context: Context) -> None:
        self._nest = op.nest
        self._lanes = [Lane(context.input(which)) for which in range(len(op.inputs))]
        self._structures: list[Structure] = []
        self._structure: Structure | None = None

    def pull(self, rows: int) -> Block | None:
        for lane in self._lanes:
            # No lane reads further than those before it have come.
            rows = min(rows, max(lane.fill(rows), 1))
            if lane.ended:
                self.close()
                return None
        failed = next((lane.error for lane in self._lanes if lane.error is not None), None)
        if failed is not None:
            for lane in self._lanes:
                lane.drop(unless=failed)
            raise failed
        blocks = [lane.cut(rows) for lane in self._lanes]
        columns = [column for block in blocks for column in block.columns]
        # Of parts from several files nobody knows which one is wrong: a wrong place is worse than none.
        origins = [block.origin for block in blocks if block.origin is not None]
        origin = origins[0] if len(origins) == 1 else None
        return Block(self._filled(blocks), columns, rows, origin=origin)

    def state(self) -> Any:
        return {
            "inputs": [lane.state() for lane in self._lanes],
            "ended": all(lane.ended for lane in self._lanes),
        }

    def restore(self, state: Any) -> None:
        if state["ended"]:
            self.close()
            return
        for lane, where in zip(self._lanes, state["inputs"], strict=True):
            lane.restore(where)

    def _filled(self, blocks: Sequence[Block]) -> Structure:
        structures = [block.structure for block in blocks]
        if self._structure is None or structures != self._structures:
            self._structures, self._structure = structures, filled(self._nest, structures)
        return self._structure

    def close(self) -> None:
        for lane in self._lanes:
            lane.block, lane.error, lane.ended = None, None, True
            lane.upstream.close()
