"""`padded_batch`: several elements of unequal shape stacked into one, the gaps filled."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from penstock.blocks.block import Block
from penstock.blocks.columns import Column
from penstock.blocks.spec import Spec, TensorSpec
from penstock.blocks.structure import Structure
from penstock.errors import ArgumentError, ArgumentTypeError, DataError
from penstock.graph import checks
from penstock.graph.op import INFINITE, Op
from penstock.graph.running import Context, Running
from penstock.memory.account import fewer
from penstock.ops.batch import batched_cardinality
from penstock.ops.parts import padding
from penstock.ops.parts.gathered import Gathered
from penstock.ops.parts.padded_leaf import PaddedLeaf


@dataclass(frozen=True, eq=False, kw_only=True)
class PaddedBatch(Op):
    """Stacks `size` consecutive elements, each padded to one shape."""

    size: int
    padded_shapes: Any = None
    padding_values: Any = None
    drop_remainder: bool = False

    name = "padded_batch"
    parted = "evenly"

    def __post_init__(self) -> None:
        checks.count(self.size, "padded_batch(batch_size=)", least=1)
        checks.flag(self.drop_remainder, "padded_batch(drop_remainder=)")
        spec = self.inputs[0].spec
        if spec is not None:
            shapes, values = self.shapes_and_values(spec.structure)
            self._check(spec, shapes, values)

    def shapes_and_values(self, structure: Structure) -> tuple[list[padding.Shape | None], list[Any]]:
        """What each leaf is padded to and with, as the user said."""
        argument = "padded_shapes"
        try:
            shapes = padding.read_shapes(self.padded_shapes, structure)
            argument = "padding_values"
            values = padding.read_values(self.padding_values, structure)
            for value, path in zip(values, structure.paths(), strict=True):
                padding.check_scalar(value, path)
        except (TypeError, ValueError) as error:
            raise self.wrong(argument, error) from None
        return shapes, values

    def _check(self, spec: Spec, shapes: list[padding.Shape | None], values: list[Any]) -> None:
        argument = "padded_shapes"
        leaves = list(zip(spec.leaves, spec.structure.paths(), strict=True))
        try:
            for shape, (leaf, path) in zip(shapes, leaves, strict=True):
                padding.check_shape(shape, leaf, path)
            argument = "padding_values"
            for value, (leaf, path) in zip(values, leaves, strict=True):
                padding.check_value(value, leaf.dtype, path)
        except (TypeError, ValueError) as error:
            raise self.wrong(argument, error) from None

    def wrong(self, argument: str, error: Exception) -> ArgumentError | ArgumentTypeError:
        """The error that tells the user which argument is wrong, and why."""
        kind = ArgumentTypeError if isinstance(error, TypeError) else ArgumentError
        return kind(self.fail(f"{argument}=: {error}."))

    def start(self, context: Context) -> Running:
        return RunningPaddedBatch(self, context)

    def find_spec(self) -> Spec | None:
        spec = self.inputs[0].spec
        if spec is None:
            return None
        count = self.inputs[0].cardinality
        whole = count == INFINITE or (count >= 0 and count % self.size == 0)
        size = self.size if self.drop_remainder or whole else None
        shapes, _ = self.shapes_and_values(spec.structure)
        leaves = [
            TensorSpec(leaf.shape if shape is None else shape, leaf.dtype).batched(size)
            for shape, leaf in zip(shapes, spec.leaves, strict=True)
        ]
        return Spec(spec.structure, leaves)

    def find_cardinality(self) -> int:
        return batched_cardinality(self.inputs[0].cardinality, self.size, drop_remainder=self.drop_remainder)


class RunningPaddedBatch(Running):
    """Gathers the rows of a batch, then lays them into one array a leaf."""

    def __init__(self, op: PaddedBatch, context: Context) -> None:
        self._op = op
        self._context = context
        self._upstream = context.input()
        self._shapes: list[padding.Shape | None] = []
        self._values: list[Any] = []
        self._structure: Structure | None = None
        self._gathered = Gathered(context)
        self._leaves: list[PaddedLeaf] = []  # of the batch whose rows go to the log
        self._seen = 0
        self._ended = False

    def pull(self, rows: int) -> Block | None:
        size, gathered, track = self._op.size, self._gathered, self._context.track
        if not gathered.rows:
            track.take(self.state)
        elif track.pace.due:
            rows = 1  # then there is nothing at hand the next time
        while gathered.rows < size and not self._ended:
            # A log gets the rows of one batch and no more.
            wanted = (1 if gathered.logged else rows) * size - gathered.rows
            block = self._upstream.pull(wanted)
            if block is None:
                self._ended = True
            else:
                self._keep(block)
            del block  # what it holds is not needed while the next part is made
        if gathered.rows >= size:
            return self._batches(min(gathered.rows // size, rows))
        if gathered.rows and not self._op.drop_remainder:
            return self._batch(gathered.rows)
        gathered.clear()
        return None

    def _keep(self, block: Block) -> None:
        if self._structure is None:
            self._structure = block.structure
            self._shapes, self._values = self._op.shapes_and_values(block.structure)
        gathered = self._gathered
        if gathered.logged:
            self._see(self._leaves, [block], self._seen + gathered.rows)
        gathered.add(block)
        if gathered.rows < self._op.size and gathered.many:
            self._leaves = self._new_leaves()
            self._see(self._leaves, gathered.parts, self._seen)
            gathered.move()
        if gathered.logged:
            # The batch will have no less than this: what cannot fit is told before all rows came.
            self._need(sum(leaf.nbytes for leaf in self._leaves), gathered.rows)

    def _new_leaves(self) -> list[PaddedLeaf]:
        return [PaddedLeaf(shape) for shape in self._shapes]

    def _see(self, leaves: list[PaddedLeaf], parts: list[Block], number: int) -> None:
        for part in parts:
            for leaf, column in zip(leaves, part.columns, strict=True):
                leaf.see(column, number)
            number += part.rows

    def _need(self, size: int, rows: int) -> None:
        """Say that a batch of so many rows needs so many bytes."""
        self._context.account.need(size, fewer("batch_size", -(-size // max(rows, 1))))

    def _batches(self, count: int) -> Block:
        if count > 1 and all(shape is not None and None not in shape for shape in self._shapes):
            count = min(count, self._context.rows_for(self._fixed_bytes()))
            if count > 1:
                rows = count * self._op.size
                try:
                    block = self._lay(self._gathered.first(rows), self._seen, count)
                except DataError:
                    pass  # one of these batches fails; those before it are made one by one
                else:
                    self._gathered.cut(rows)
                    self._seen += rows
                    return block
        return self._batch(self._op.size)

    def _fixed_bytes(self) -> int:
        """About the bytes of one batch where all shapes are fixed."""
        size, columns = 0, self._gathered.parts[0].columns
        for shape, column in zip(self._shapes, columns, strict=True):
            item = max((dtype.itemsize for dtype in padding.dtypes_of(column)), default=0)
            size += item * math.prod(n or 0 for n in shape or ())
        return size * self._op.size

    def _batch(self, rows: int) -> Block:
        first, self._seen = self._seen, self._seen + rows
        gathered = self._gathered
        if not gathered.logged:
            return self._lay(gathered.cut(rows), first, 1)
        try:
            values = self._checked(self._leaves, first)
        except DataError:
            gathered.clear()
            raise
        columns: list[Column | None] = [None] * len(values)
        return self._fill(self._leaves, values, columns, [], 1)

    def _lay(self, parts: list[Block], first: int, count: int) -> Block:
        leaves = self._new_leaves()
        self._see(leaves, parts, first)
        values = self._checked(leaves, first)
        columns = [leaf.uncopied([part.columns[i] for part in parts], count) for i, leaf in enumerate(leaves)]
        return self._fill(leaves, values, columns, parts, count)

    def _fill(
        self,
        leaves: list[PaddedLeaf],
        values: list[Any],
        columns: list[Column | None],
        parts: list[Block],
        count: int,
    ) -> Block:
        """Make the columns that are None, of the rows in `parts`, or where it is empty in the log."""
        gathered, structure = self._gathered, self._structure
        rest = [i for i, column in enumerate(columns) if column is None]
        size = sum(leaves[i].nbytes for i in rest)
        self._need(size, leaves[0].rows if leaves else 1)
        if parts and count == 1 and not gathered.fits(size):
            gathered.put_off(parts)
        laid = {i: leaves[i].begin(values[i], count, self._context.empty) for i in rest}

        def lay(part: Block) -> None:
            for i, leaf in laid.items():
                leaf.lay(part.columns[i])

        for part in parts:
            lay(part)
        if not parts:
            gathered.drain(lay)
        assert structure is not None
        made = [laid[i].column() if column is None else column for i, column in enumerate(columns)]
        return Block(structure, made, count)

    def _checked(self, leaves: list[PaddedLeaf], first: int) -> list[Any]:
        """What each leaf is padded with; `DataError` where the rows make no batch."""
        assert self._structure is not None
        values = []
        for i, path in enumerate(self._structure.paths()):
            problem = leaves[i].problem(path, first)
            if problem is not None:
                raise self._failed(*problem)
            try:
                values.append(padding.check_value(self._values[i], leaves[i].dtype, path))
            except TypeError as error:
                raise self._op.wrong("padding_values", error) from None
        return values

    def _failed(self, message: str, number: int) -> DataError:
        label = self._context.label
        text = f"{label} at {self._op.site}: element {number}: {message}."
        return DataError(text, op=label, number=number)

    def state(self) -> Any:
        return {"input": self._upstream.state(), "seen": self._seen}

    def restore(self, state: Any) -> None:
        self._upstream.restore(state["input"])
        self._seen = state["seen"]

    def close(self) -> None:
        self._gathered.close()
