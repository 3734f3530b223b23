"""From the places of a feature's values to columns: one class a kind of feature.

The records are those of a block's rows: one a row, or `batch` of them. A plain call is a block of one row.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.columns import BytesColumn, Column, DenseColumn, ObjectColumn, RaggedColumn
from penstock.blocks.placed import PlacedStrings, worth_placing
from penstock.blocks.ragged import Ragged
from penstock.blocks.spec import BYTES, OBJECT, TensorSpec
from penstock.io.examples.features import FixedLenFeature, FixedLenSequenceFeature
from penstock.io.examples.found import Found, Index, Raw, Slot
from penstock.kernels.spans import Empty, offsets_of

Size = int | None


class Frame(NamedTuple):
    """How the records make rows: one a row if `batch` is None, else `batch` of them."""

    rows: int
    batch: Size
    empty: Empty

    @property
    def outer(self) -> tuple[int, ...]:
        """The axis of the batch, if there is one."""
        return () if self.batch is None else (self.batch,)

    @property
    def records(self) -> int:
        """How many records there are."""
        return self.rows * (1 if self.batch is None else self.batch)


class Reading(ABC):
    """One feature that is asked for: its slots, what it gives, and its spec."""

    slots: Sequence[Slot]

    @abstractmethod
    def column(self, found: Sequence[Found], frame: Frame) -> Any:
        """The column of the feature, or a nest of columns."""

    @abstractmethod
    def spec(self, outer: tuple[Size, ...]) -> Any:
        """The spec of what it gives, likewise; `outer` is the axis of the batch, if there is one."""


@dataclass(frozen=True)
class Fixed(Reading):
    """`FixedLenFeature`."""

    feature: FixedLenFeature
    slots: Sequence[Slot]

    def column(self, found: Sequence[Found], frame: Frame) -> Column:
        one, shape, default = found[0], self.feature.shape, self.feature.default_value
        need, records = math.prod(shape), frame.records
        places = np.arange(records) * need
        missing = np.flatnonzero(one.counts < 0) if default is not None else ()
        if self.feature.dtype != BYTES:
            out = frame.empty((records, *shape), one.dtype)
            one.numbers(places, out.reshape(-1))
            if len(missing):
                out[missing] = default
            return DenseColumn(out.reshape(frame.rows, *frame.outer, *shape))
        begins, lengths = one.spans(places, records * need)
        other = b""
        if len(missing):
            texts = default.ravel().tolist()
            other, sizes = b"".join(texts), np.array([len(text) for text in texts], np.int64)
            begins.reshape(records, need)[missing] = -1 - offsets_of(sizes)[:-1]
            lengths.reshape(records, need)[missing] = sizes
        outer, size = (*frame.outer, *shape), int(lengths.sum())
        if frame.rows > 1 and not len(missing) and 2 * size > one.size and worth_placing(size, len(begins)):
            return PlacedStrings(begins, lengths, one.held, frame.empty, shape=outer)
        values, offsets = one.strings(begins, lengths, other, frame.empty)
        return strings_column(values, offsets, frame.rows, outer)

    def spec(self, outer: tuple[Size, ...]) -> TensorSpec:
        return TensorSpec((*outer, *self.feature.shape), self.feature.dtype)


@dataclass(frozen=True)
class VarLen(Reading):
    """`VarLenFeature`, and a `RaggedFeature` without partitions."""

    slots: Sequence[Slot]
    splits_dtype: np.dtype[Any]

    def column(self, found: Sequence[Found], frame: Frame) -> Column:
        values, offsets = flat(found[0], frame.empty)
        if frame.batch is None:
            return ragged_column(values, offsets, found[0].lengths[:, None])
        rows = []
        for row in range(frame.rows):
            bounds = offsets[row * frame.batch : (row + 1) * frame.batch + 1]
            part = cut(values, int(bounds[0]), int(bounds[-1]), whole=frame.rows == 1)
            rows.append(Ragged(part, (bounds - bounds[0]).astype(self.splits_dtype)))
        return objects(rows)

    def spec(self, outer: tuple[Size, ...]) -> TensorSpec:
        return TensorSpec((*outer, None), self.slots[0].dtype)


@dataclass(frozen=True)
class Sequences(Reading):
    """`FixedLenSequenceFeature`."""

    feature: FixedLenSequenceFeature
    slots: Sequence[Slot]

    def column(self, found: Sequence[Found], frame: Frame) -> Column:
        one, shape = found[0], self.feature.shape
        entries = one.lengths // math.prod(shape)
        if frame.batch is None:
            values, offsets = flat(one, frame.empty)
            shapes = np.column_stack([entries, *[np.full(len(entries), size) for size in shape]])
            return ragged_column(values, offsets, shapes)
        return padded(one, entries, self.feature, frame)

    def spec(self, outer: tuple[Size, ...]) -> TensorSpec:
        return TensorSpec((*outer, None, *self.feature.shape), self.feature.dtype)


def layout(entries: Index, shape: tuple[int, ...], frame: Frame) -> tuple[Index, Index, Index]:
    """Where each record's entries begin, padded to the longest of its batch; each batch's; their shapes."""
    assert frame.batch is not None
    rows, batch, stride = frame.rows, frame.batch, math.prod(shape)
    longest = entries.reshape(rows, batch).max(axis=1, initial=0)
    starts = offsets_of(longest * batch * stride)
    places = starts[:-1, None] + np.arange(batch) * longest[:, None] * stride
    sizes = [np.full(rows, size, np.int64) for size in shape]
    return places.ravel(), starts, np.column_stack([np.full(rows, batch), longest, *sizes])


def padded(one: Found, entries: Index, feature: FixedLenSequenceFeature, frame: Frame) -> Column:
    """The records of each batch, padded to the longest of them."""
    places, starts, shapes = layout(entries, feature.shape, frame)
    total, default = int(starts[-1]), feature.default_value
    if feature.dtype != BYTES:
        out = frame.empty(total, one.dtype)
        out[:] = 0 if default is None else default
        one.numbers(places, out)
        return ragged_column(out, starts, shapes, dense=True)
    begins, lengths = np.full(total, -1, np.int64), np.full(total, len(default or b""), np.int64)
    some = np.repeat(places - one.offsets[:-1], one.lengths) + np.arange(one.offsets[-1])
    begins[some], lengths[some] = one.spans(one.offsets[:-1], int(one.offsets[-1]))
    values, offsets = one.strings(begins, lengths, default or b"", frame.empty)
    return ragged_column(BytesColumn(values, offsets, text=False), starts, shapes)


Values = NDArray[Any] | BytesColumn


def flat(one: Found, empty: Empty) -> tuple[Values, Index]:
    """The values of all records end to end, and the offsets of each record's."""
    places, total = one.offsets[:-1], int(one.offsets[-1])
    if one.dtype != BYTES:
        out = empty(total, one.dtype)
        one.numbers(places, out)
        return out, one.offsets
    begins, lengths = one.spans(places, total)
    values, offsets = one.strings(begins, lengths, b"", empty)
    return BytesColumn(values, offsets, text=False), one.offsets


def cut(values: Values, start: int, stop: int, *, whole: bool = False) -> NDArray[Any]:
    """A part of the values as an array of its own, which keeps nothing else alive."""
    if isinstance(values, BytesColumn):
        strings = values.slice(start, stop).strings()
        out = np.empty(len(strings), object)
        out[:] = strings
        return out
    return values if whole else values[start:stop].copy()


def ragged_column(values: Values, offsets: Index, shapes: Index, *, dense: bool = False) -> Column:
    """Arrays of these shapes, whose items lie end to end; `dense` where one shape may be told from that."""
    one_shape = bool((shapes == shapes[:1]).all())
    if isinstance(values, BytesColumn):
        if one_shape and len(shapes) and shapes[0].prod():
            return values.reshaped(tuple(shapes[0].tolist()))
        bounds = offsets.tolist()
        parts = [cut(values, bounds[i], bounds[i + 1]) for i in range(len(shapes))]
        return objects([part.reshape(shape) for part, shape in zip(parts, shapes.tolist(), strict=True)])
    if dense and one_shape and len(shapes):
        return DenseColumn(values.reshape(len(shapes), *shapes[0].tolist()))
    return RaggedColumn(values, offsets, shapes.astype(np.int64, copy=False))


def strings_column(values: Raw, offsets: Index, rows: int, shape: tuple[int, ...]) -> Column:
    """Strings of one shape a row; an array of objects where a row has none."""
    if math.prod(shape):
        return BytesColumn(values, offsets, text=False, shape=shape)
    return objects([np.empty(shape, object) for _ in range(rows)])


def objects(items: Sequence[Any]) -> ObjectColumn:
    """A column of these leaves."""
    array = np.empty(len(items), OBJECT)
    for i, item in enumerate(items):
        array[i] = item
    return ObjectColumn(array)
