"""`SparseFeature`: values, and where they are in a large array of zeros."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from penstock.blocks.columns import BytesColumn, DenseColumn
from penstock.blocks.spec import TensorSpec
from penstock.io.examples.features import SparseFeature
from penstock.io.examples.found import BadRecord, Found, Index, Slot
from penstock.io.examples.readings import Frame, Reading, Size, flat, ragged_column


class SparseValue(NamedTuple):
    """What is in an array that is zero elsewhere: a value for each row of `indices`.

    >>> import numpy as np
    >>> from penstock.io import SparseValue
    >>> some = SparseValue(np.array([[1], [3]]), np.array([0.5, 2.0]), np.array([4]))
    >>> dense = np.zeros(some.dense_shape)
    >>> dense[tuple(some.indices.T)] = some.values
    >>> dense
    array([0. , 0.5, 0. , 2. ])
    """

    indices: Any
    values: Any
    dense_shape: Any


@dataclass(frozen=True)
class Sparse(Reading):
    """The slots are those of the indices, one an axis, and that of the values."""

    name: str
    feature: SparseFeature
    slots: Sequence[Slot]

    def column(self, found: Sequence[Found], frame: Frame) -> Any:
        counts = found[-1].lengths
        for slot, one in zip(self.slots, found, strict=True):
            odd = np.flatnonzero(one.lengths != counts)
            if len(odd):
                raise self._bad(
                    int(odd[0]),
                    f"expected as many values in {slot.key!r} as in {self.slots[-1].key!r}, "
                    f"{counts[odd[0]]}, got {one.lengths[odd[0]]}",
                )
        values, offsets = flat(found[-1], frame.empty)
        axes: list[Any] = [flat(one, frame.empty)[0] for one in found[:-1]]
        records = np.repeat(np.arange(len(counts)), counts)
        self._check(axes, records)
        if not self.feature.already_sorted:
            order = np.lexsort((*axes[::-1], records))
            axes = [axis[order] for axis in axes]
            values = values.take(order) if isinstance(values, BytesColumn) else values[order]
        sizes = list(self.feature.size)
        if frame.batch is not None:
            axes.insert(0, records % max(frame.batch, 1))
            sizes.insert(0, frame.batch)
            offsets = offsets[:: frame.batch] if frame.batch else offsets[[0, 0]]
        many = np.diff(offsets)[:, None]
        indices = np.column_stack(axes).astype(np.int64, copy=False).reshape(-1)
        rank = np.full_like(many, len(sizes))
        return SparseValue(
            ragged_column(indices, offsets * len(sizes), np.concatenate([many, rank], axis=1)),
            ragged_column(values, offsets, many),
            DenseColumn(np.tile(np.array(sizes, np.int64), (frame.rows, 1))),
        )

    def _check(self, axes: list[Index], records: Index) -> None:
        for axis, size, slot in zip(axes, self.feature.size, self.slots, strict=False):
            odd = np.flatnonzero((axis < 0) | (axis >= size))
            if len(odd):
                raise self._bad(
                    int(records[odd[0]]),
                    f"expected indices from 0 to {size - 1} in {slot.key!r}, got {axis[odd[0]]}",
                )

    def _bad(self, record: int, words: str) -> BadRecord:
        return BadRecord(record, f"feature {self.name!r}: {words}")

    def spec(self, outer: tuple[Size, ...]) -> Any:
        rank = len(outer) + len(self.feature.size)
        return SparseValue(
            TensorSpec((None, rank), np.int64),
            TensorSpec((None,), self.feature.dtype),
            TensorSpec((rank,), np.int64),
        )
