"""`padded_batch`: several elements of unequal shape stacked into one, the gaps filled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.build import column_of_array, concat_columns
from penstock.blocks.columns import BytesColumn, Column, DenseColumn
from penstock.blocks.spec import Spec, TensorSpec
from penstock.blocks.structure import Structure
from penstock.errors import ArgumentError, ArgumentTypeError, DataError
from penstock.graph import checks
from penstock.graph.op import INFINITE, Op
from penstock.graph.running import Context, Running
from penstock.ops import padding
from penstock.ops.batch import batched_cardinality


@dataclass(frozen=True, eq=False, kw_only=True)
class PaddedBatch(Op):
    """Stacks `size` consecutive elements, each padded to one shape."""

    size: int
    padded_shapes: Any = None
    padding_values: Any = None
    drop_remainder: bool = False

    name = "padded_batch"

    def __post_init__(self) -> None:
        checks.count(self.size, "padded_batch(batch_size=)", least=1)
        checks.flag(self.drop_remainder, "padded_batch(drop_remainder=)")
        spec = self.inputs[0].spec
        if spec is not None:
            shapes, values = self.shapes_and_values(spec.structure)
            self._check(spec, shapes, values)

    def shapes_and_values(
        self, structure: Structure
    ) -> tuple[list[padding.Shape | None], list[Any]]:
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
        return batched_cardinality(
            self.inputs[0].cardinality, self.size, drop_remainder=self.drop_remainder
        )


class RunningPaddedBatch(Running):
    """Gathers the rows of a batch, then lays them into one array a leaf."""

    def __init__(self, op: PaddedBatch, context: Context) -> None:
        self._op = op
        self._context = context
        self._upstream = context.input()
        self._shapes: list[padding.Shape | None] = []
        self._values: list[Any] = []
        self._structure: Structure | None = None
        self._parts: list[Block] = []
        self._have = 0
        self._bytes = 0
        self._seen = 0
        self._ended = False

    def pull(self, rows: int) -> Block | None:
        size = self._op.size
        while self._have < size and not self._ended:
            block = self._upstream.pull(rows * size - self._have)
            if block is None:
                self._ended = True
            else:
                self._keep(block)
        if self._have >= size:
            return self._batches(min(self._have // size, rows))
        if self._have and not self._op.drop_remainder:
            return self._lay(self._cut(self._have), 1)
        self._parts = []
        return None

    def _keep(self, block: Block) -> None:
        if self._structure is None:
            self._structure = block.structure
            self._shapes, self._values = self._op.shapes_and_values(block.structure)
        size = block.nbytes
        whole_batch = -(-size // block.rows) * self._op.size
        self._parts.append(block)
        self._have += block.rows
        self._bytes += size
        if self._have < self._op.size or whole_batch > self._context.block_bytes:
            remedy = f"Use a batch_size smaller than {self._op.size}."
            self._context.account.need(max(whole_batch, self._bytes), remedy)

    def _batches(self, count: int) -> Block:
        fixed = all(shape is not None and None not in shape for shape in self._shapes)
        if count > 1 and fixed:
            parts = self._first(count * self._op.size)
            try:
                block = self._lay(parts, count)
            except DataError:
                pass  # one of these batches fails; those before it are made one by one
            else:
                self._cut(count * self._op.size)
                return block
        return self._lay(self._cut(self._op.size), 1)

    def _first(self, rows: int) -> list[Block]:
        """The first `rows` of the rows at hand."""
        parts = []
        for part in self._parts:
            if rows <= 0:
                break
            parts.append(part.slice(0, min(rows, part.rows)))
            rows -= part.rows
        return parts

    def _cut(self, rows: int) -> list[Block]:
        """The first `rows` of the rows at hand, which are then at hand no more."""
        parts = self._first(rows)
        self._have -= rows
        self._seen += rows
        while rows:
            first = self._parts.pop(0)
            if first.rows > rows:
                self._parts.insert(0, first.slice(rows, first.rows))
                break
            rows -= first.rows
        self._bytes = sum(part.nbytes for part in self._parts)
        return parts

    def _lay(self, parts: list[Block], count: int) -> Block:
        rows = sum(part.rows for part in parts)
        first = self._seen - rows if count == 1 else self._seen
        structure, columns = parts[0].structure, []
        for i, path in enumerate(structure.paths()):
            leaf = [part.columns[i] for part in parts]
            try:
                dtype = padding.dtype_of(leaf)
                target = self._target(leaf, i, path, first)
            except TypeError as error:
                raise self._failed(f"element{path}: {error}", first) from None
            try:
                value = padding.check_value(self._values[i], dtype, path)
            except TypeError as error:
                raise self._op.wrong("padding_values", error) from None
            columns.append(self._stack(leaf, value, (rows, *target), count))
        return Block(structure, columns, count)

    def _stack(self, leaf: list[Column], value: Any, shape: tuple[int, ...], count: int) -> Column:
        rows, target = shape[0], shape[1:]
        batched = (count, rows // count, *target)
        one = leaf[0]
        if len(leaf) == 1 and isinstance(one, DenseColumn) and one.array.shape[1:] == target:
            return DenseColumn(one.array.reshape(batched))
        if all(isinstance(part, BytesColumn) and part.shape == target for part in leaf):
            joined = concat_columns(leaf)
            assert isinstance(joined, BytesColumn)
            return joined.reshaped(batched[1:])
        dtype = np.dtype(object) if isinstance(value, bytes | str) else np.asarray(value).dtype
        out = self._allocate(shape, dtype)
        at = 0
        for part in leaf:
            padding.lay(part, out[at : at + part.rows], value)
            at += part.rows
        return column_of_array(out.reshape(batched))

    def _allocate(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        remedy = f"Use a batch_size smaller than {self._op.size}, or smaller padded_shapes."
        self._context.account.need(size + self._bytes, remedy)
        return self._context.empty(shape, dtype)

    def _target(self, leaf: list[Column], i: int, path: str, first: int) -> tuple[int, ...]:
        """The shape that every row of the leaf is padded to; `DataError` where one does not fit."""
        shapes = [padding.shapes_of(part) for part in leaf]
        ranks = {part.shape[1] for part in shapes}
        if len(ranks) > 1:
            raise TypeError(f"expected elements of one rank, got the ranks {sorted(ranks)}")
        longest = np.max([part.max(axis=0) for part in shapes], axis=0).astype(np.int64)
        said = self._shapes[i]
        if said is None:
            return tuple(longest.tolist())
        if len(said) != len(longest):
            raise TypeError(f"expected elements of rank {len(said)}, got the rank {len(longest)}")
        pairs = zip(said, longest.tolist(), strict=True)
        target = tuple(size if wanted is None else wanted for wanted, size in pairs)
        if (longest > np.array(target, np.int64)).any():
            at = first
            for part, column in zip(shapes, leaf, strict=True):
                over = (part > np.array(target, np.int64)).any(axis=1)
                if over.any():
                    row = int(over.argmax())
                    came = tuple(part[row].tolist())
                    raise self._failed(
                        f"element{path} has the shape {came}, which is longer than the padded "
                        f"shape {said}. Cut it with a map before, or give larger padded_shapes",
                        at + row,
                    )
                at += column.rows
        return target

    def _failed(self, message: str, number: int) -> DataError:
        label = self._context.label
        text = f"{label} at {self._op.site}: element {number}: {message}."
        return DataError(text, op=label, number=number)

    def close(self) -> None:
        self._parts = []
