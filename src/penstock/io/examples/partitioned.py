"""`RaggedFeature` with partitions: values cut into rows, and these into rows of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.columns import Column
from penstock.blocks.ragged import Ragged
from penstock.blocks.spec import TensorSpec
from penstock.io.examples.found import BadRecord, Found, Index, Slot
from penstock.io.examples.ragged_feature import Partition, RaggedFeature
from penstock.io.examples.readings import Frame, Reading, Size, cut, flat, objects
from penstock.kernels.spans import offsets_of

MOST_EMPTY_ROWS = 1 << 20
"""So many more rows than values may there be: a few bytes must not ask for an array beyond all memory."""


@dataclass(frozen=True)
class Partitioned(Reading):
    """The slots are that of the values, and those of the partitions that have a key, in order."""

    name: str
    feature: RaggedFeature
    slots: Sequence[Slot]

    def column(self, found: Sequence[Found], frame: Frame) -> Column:
        values, bounds = flat(found[0], frame.empty)
        keyed = iter([flat(one, frame.empty) for one in found[1:]])
        parts = [
            None if isinstance(part, RaggedFeature.UniformRowLength) else next(keyed)
            for part in self.feature.partitions
        ]
        levels = [
            self._levels(record, int(found[0].lengths[record]), parts) for record in range(frame.records)
        ]
        width = 1 if frame.batch is None else frame.batch
        rows = []
        for row in range(frame.rows):
            first, last = row * width, (row + 1) * width
            flat_values = cut(values, int(bounds[first]), int(bounds[last]))
            rows.append(self._nested(flat_values, levels[first:last], batched=frame.batch is not None))
        return objects(rows)

    def _levels(self, record: int, length: int, parts: Sequence[Any]) -> list[Index]:
        """The lengths of one record's rows, for each partition."""
        levels: list[Index] = []
        for partition, part in zip(self.feature.partitions[::-1], parts[::-1], strict=True):
            own: Any = None
            if part is not None:
                flat_part, offsets = part
                own = flat_part[offsets[record] : offsets[record + 1]]
            lengths = row_lengths(partition, own, length)
            if lengths is None:
                came = f"length={partition.length}" if own is None else f"{own.tolist()[:8]}"
                most = ""
                if isinstance(partition, RaggedFeature.ValueRowIds):
                    most = f" into at most {length + MOST_EMPTY_ROWS} rows"
                raise BadRecord(
                    record,
                    f"feature {self.name!r}: expected a {type(partition).__name__.strip('_')} partition of "
                    f"{length} values{most}, got {came}",
                )
            levels.insert(0, lengths)
            length = len(lengths)
        return levels

    def _nested(self, values: NDArray[Any], levels: Sequence[Sequence[Index]], *, batched: bool) -> Ragged:
        made: NDArray[Any] | Ragged = values
        dtype = self.feature.row_splits_dtype
        none = [np.empty(0, np.int64)]
        for depth in range(len(self.feature.partitions) - 1, -1, -1):
            lengths = np.concatenate([*none, *[one[depth] for one in levels]])
            made = Ragged(made, offsets_of(lengths).astype(dtype))
        if batched:
            counts = np.array([len(one[0]) for one in levels], np.int64)
            made = Ragged(made, offsets_of(counts).astype(dtype))
        assert isinstance(made, Ragged)
        return made

    def spec(self, outer: tuple[Size, ...]) -> TensorSpec:
        return TensorSpec((*outer, *[None] * (len(self.feature.partitions) + 1)), self.feature.dtype)


def row_lengths(partition: Partition, own: Index | None, length: int) -> Index | None:
    """How long the rows are that a partition cuts `length` values into; None if it does not fit."""
    if own is None:
        size = partition.length  # type: ignore[attr-defined]
        return None if length % size else np.full(length // size, size, np.int64)
    if isinstance(partition, RaggedFeature.ValueRowIds):
        if len(own) != length or (len(own) and (own[0] < 0 or (own[1:] < own[:-1]).any())):
            return None
        rows = int(own[-1]) + 1 if len(own) else 0
        return np.bincount(own, minlength=rows) if rows <= length + MOST_EMPTY_ROWS else None
    lengths = own
    if isinstance(partition, RaggedFeature.RowSplits):
        if not len(own):
            return np.empty(0, np.int64) if not length else None
        lengths = np.diff(own)
    elif isinstance(partition, RaggedFeature.RowStarts):
        lengths = np.diff(own, append=length)
    elif isinstance(partition, RaggedFeature.RowLimits):
        lengths = np.diff(own, prepend=0)
    starts_at_0 = not len(own) or own[0] == 0
    if isinstance(partition, RaggedFeature.RowSplits | RaggedFeature.RowStarts) and not starts_at_0:
        return None
    fits = not (lengths < 0).any() and not (lengths > length).any() and int(lengths.sum()) == length
    return lengths if fits else None
