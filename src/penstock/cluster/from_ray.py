"""`ps.from_ray`: the rows of a `ray.data.Dataset`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.build import LeafError, as_leaf, column_of
from penstock.blocks.columns import Column, DenseColumn
from penstock.blocks.spec import BYTES, TEXT, Spec, TensorSpec
from penstock.blocks.structure import Structure, structure_of
from penstock.errors import ArgumentTypeError, DataError
from penstock.graph.op import UNKNOWN, Op
from penstock.graph.running import Context, Running
from penstock.io.formats.optional import optional

ROWS = 32
"""So many rows are asked for at a time where nobody knows how large one is."""


@dataclass(frozen=True, eq=False, kw_only=True)
class FromRay(Op):
    """The rows of a dataset of Ray, each a dict of its columns; each run executes it anew."""

    dataset: Any = field(repr=False, metadata={"fingerprint": False})

    name = "from_ray"

    def __post_init__(self) -> None:
        data = optional("ray.data", "ray")
        if not isinstance(self.dataset, data.Dataset):
            raise ArgumentTypeError(
                self.fail(f"expected a ray.data.Dataset, got a {type(self.dataset).__name__}.")
            )

    def start(self, context: Context) -> Running:
        return RunningRay(self, context)

    def find_spec(self) -> Spec | None:
        schema = self.dataset.schema(fetch_if_missing=False)  # nothing is executed for it
        if schema is None or not schema.names:
            return None
        leaves = [_spec_of(kind) for kind in schema.types]
        if any(leaf is None for leaf in leaves):
            return None
        structure = structure_of(dict.fromkeys(schema.names, 0))
        return Spec(structure, [leaf for leaf in leaves if leaf is not None])

    def find_cardinality(self) -> int:
        return UNKNOWN

    def describe(self) -> str:
        return "from_ray(Dataset)"


class RunningRay(Running):
    """Asks Ray for batches of as many rows as make a block, and hands out slices."""

    replays = "a dataset of Ray is read from its first row on"

    def __init__(self, op: FromRay, context: Context) -> None:
        self._op = op
        self._context = context
        size = None if op.spec is None else op.spec.row_bytes
        self._rows = ROWS if size is None else min(context.rows_for(size), 1 << 16)
        self._batches: Iterator[Any] | None = None
        self._structure: Structure | None = None
        self._rest: Block | None = None
        self._seen = 0
        self._ended = False

    def pull(self, rows: int) -> Block | None:
        if self._ended:
            return None
        if self._rest is None:
            if self._batches is None:
                batches = self._op.dataset.iter_batches(
                    batch_size=self._rows, batch_format="numpy", prefetch_batches=1
                )
                self._batches = iter(batches)
            batch = next(self._batches, None)
            if batch is None:
                self.close()
                return None
            self._rest = self._block_of(batch)
        block = self._rest
        self._rest = block.slice(rows, block.rows) if block.rows > rows else None
        self._seen += min(rows, block.rows)
        return block.slice(0, min(rows, block.rows))

    def state(self) -> Any:
        return None

    def restore(self, state: Any) -> None:
        assert state is None, "it begins at the beginning"

    def _block_of(self, batch: Mapping[str, NDArray[Any]]) -> Block:
        if self._structure is None:
            self._structure = structure_of(dict.fromkeys(batch, 0))
        columns = [self._column(name, batch[name]) for name in self._structure.keys]
        return Block(self._structure, columns, columns[0].rows)

    def _column(self, name: Any, array: NDArray[Any]) -> Column:
        if array.dtype.kind not in "OSU":
            return DenseColumn(array)
        leaves = []
        for row, item in enumerate(array):
            try:
                leaves.append(as_leaf(item))
            except LeafError as error:
                raise DataError(
                    f"{self._context.where}: element {self._seen + row} has {error} in column {name!r}.",
                    op=self._context.label,
                    number=self._seen + row,
                ) from None
        return column_of(leaves)

    def close(self) -> None:
        self._batches = self._rest = None  # Ray ends what executes the dataset with its iterator
        self._ended = True


def _spec_of(kind: Any) -> TensorSpec | None:
    """The spec of a column of this type of Arrow; None where only the rows tell."""
    arrow = optional("pyarrow", "ray")
    if isinstance(kind, arrow.BaseExtensionType):
        shape, stored = getattr(kind, "shape", None), kind.storage_type
        if shape is None or not (arrow.types.is_list(stored) or arrow.types.is_large_list(stored)):
            return None  # arrays of several shapes, or something of the user's own
        return TensorSpec(tuple(shape), np.dtype(stored.value_type.to_pandas_dtype()))
    if not isinstance(kind, arrow.DataType):
        return None
    if arrow.types.is_string(kind) or arrow.types.is_large_string(kind):
        return TensorSpec((), TEXT)
    if arrow.types.is_binary(kind) or arrow.types.is_large_binary(kind):
        return TensorSpec((), BYTES)
    if arrow.types.is_boolean(kind) or arrow.types.is_integer(kind) or arrow.types.is_floating(kind):
        return TensorSpec((), np.dtype(kind.to_pandas_dtype()))
    return None
