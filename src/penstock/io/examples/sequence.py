"""The feature lists of a tf.train.SequenceExample, from their places to columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.blocks.columns import BytesColumn, Column, DenseColumn
from penstock.blocks.placed import places_of
from penstock.blocks.ragged import Ragged
from penstock.blocks.spec import BYTES, TensorSpec
from penstock.errors import ArgumentTypeError
from penstock.io.examples.features import FixedLenSequenceFeature, VarLenFeature
from penstock.io.examples.found import KINDS, BadRecord, Found, Index, Keys, Slot, explain, hold
from penstock.io.examples.ragged_feature import RaggedFeature
from penstock.io.examples.readings import Frame, Size, cut, flat, layout, objects, ragged_column
from penstock.kernels.spans import offsets_of


@dataclass(frozen=True)
class Steps:
    """A list of features of every record: how many there are, and the places of their values."""

    lengths: Index
    values: Found


class Lists:
    """The feature lists that are asked for of every record."""

    def __init__(self, features: Mapping[str, Any], call: str) -> None:
        self._features = features
        self._slots = [_slot(name, feature, call) for name, feature in features.items()]
        self._keys = Keys(self._slots)

    def columns(self, serialized: BytesColumn, frame: Frame) -> tuple[Any, Any]:
        """The columns of the lists, and of how long the dense ones are; `BadRecord` if one is not right."""
        made: dict[str, Any] = {}
        sizes: dict[str, Any] = {}
        for (name, feature), steps in zip(self._features.items(), self._find(serialized), strict=True):
            if isinstance(feature, FixedLenSequenceFeature):
                made[name] = dense_steps(feature, steps, frame)
                sizes[name] = DenseColumn(steps.lengths.reshape(frame.rows, *frame.outer))
            else:
                made[name] = ragged_steps(feature, steps, frame)
        return made, sizes

    def _find(self, serialized: BytesColumn) -> list[Steps]:
        from penstock.kernels.compiled.example_lists import find_features, survey_features, survey_lists

        starts, bytes_of, held = places_of(serialized)
        keys, records = self._keys, len(starts)
        steps, first, last = (np.empty((len(self._slots), records), np.int64) for _ in range(3))
        fault = np.zeros(4, np.int64)
        done = survey_lists(starts, starts + bytes_of, keys.bytes, keys.bounds, steps, first, last, fault)
        if done < records:
            raise explain(fault, self._slots, done, (int(starts[done]), int(bytes_of[done])))
        found, bad = [], []
        for i, slot in enumerate(self._slots):
            if not slot.may_miss and (steps[i] < 0).any():
                record = int((steps[i] < 0).argmax())
                bad.append(BadRecord(record, f"feature list {slot.name!r}: expected it, but it is missing"))
            lengths = np.maximum(steps[i], 0)
            total = int(lengths.sum())
            begins, ends, counts, one, other = (np.empty(total, np.int64) for _ in range(5))
            hold(find_features(first[i], last[i], steps[i], begins, ends), records)
            kind = KINDS[slot.dtype]
            done = survey_features(begins, ends, kind, slot.need, counts, one, other, fault)
            if done < total:
                record = int(np.searchsorted(np.cumsum(lengths), done, "right"))
                step = done - int(lengths[:record].sum())
                place = int(starts[record]), int(bytes_of[record])
                bad.append(explain(fault, [slot], record, place, f", step {step}"))
            size = int(bytes_of.sum())
            found.append(Steps(lengths, Found(held, size, slot.dtype, counts, one, other)))
        if bad:
            raise min(bad, key=lambda one: one.record)
        return found

    def specs(self, outer: tuple[Size, ...]) -> tuple[Any, Any]:
        """The specs of what comes back, likewise."""
        made: dict[str, Any] = {}
        sizes: dict[str, Any] = {}
        for name, feature in self._features.items():
            if isinstance(feature, FixedLenSequenceFeature):
                made[name] = TensorSpec((*outer, None, *feature.shape), feature.dtype)
                sizes[name] = TensorSpec(outer, np.int64)
            else:
                made[name] = TensorSpec((*outer, None, None), feature.dtype)
        return made, sizes


def _slot(name: str, feature: Any, call: str) -> Slot:
    if isinstance(feature, FixedLenSequenceFeature):
        need = math.prod(feature.shape)
        return Slot(name, name, feature.dtype, need, may_miss=feature.allow_missing)
    if isinstance(feature, VarLenFeature):
        return Slot(name, name, feature.dtype)
    if isinstance(feature, RaggedFeature) and not feature.partitions:
        return Slot(name, feature.value_key or name, feature.dtype)
    raise ArgumentTypeError(
        f"{call}(sequence_features=): expected a FixedLenSequenceFeature, a VarLenFeature or a RaggedFeature "
        f"without partitions for {name!r}, got {feature!r}."
    )


def dense_steps(feature: FixedLenSequenceFeature, steps: Steps, frame: Frame) -> Column:
    """Steps of one shape; those of a batch are padded to the longest."""
    one, lengths, stride = steps.values, steps.lengths, math.prod(feature.shape)
    if frame.batch is None:
        values, _ = flat(one, frame.empty)
        shapes = np.column_stack([lengths, *[np.full(len(lengths), size) for size in feature.shape]])
        return ragged_column(values, offsets_of(lengths * stride), shapes)
    places, starts, shapes = layout(lengths, feature.shape, frame)
    total, default = int(starts[-1]), feature.default_value
    first_steps = offsets_of(lengths)
    within = np.arange(int(first_steps[-1])) - np.repeat(first_steps[:-1], lengths)
    own = np.repeat(places, lengths) + within * stride
    if feature.dtype != BYTES:
        out = frame.empty(total, one.dtype)
        out[:] = 0 if default is None else default
        one.numbers(own, out)
        return ragged_column(out, starts, shapes, dense=True)
    begins, sizes = one.spans(own, total)
    padding = np.ones(total, np.bool_)
    padding[(own[:, None] + np.arange(stride)).ravel()] = False
    begins[padding], sizes[padding] = -1, len(default or b"")
    values, offsets = one.strings(begins, sizes, default or b"", frame.empty)
    return ragged_column(BytesColumn(values, offsets, text=False), starts, shapes)


def ragged_steps(feature: VarLenFeature | RaggedFeature, steps: Steps, frame: Frame) -> Column:
    """Steps of any number of values: a `Ragged` of steps, in a batch one of records of steps."""
    dtype = feature.row_splits_dtype if isinstance(feature, RaggedFeature) else np.dtype(np.int64)
    values, bounds = flat(steps.values, frame.empty)
    lists = offsets_of(steps.lengths)
    width = 1 if frame.batch is None else frame.batch
    rows = []
    for row in range(frame.rows):
        records = lists[row * width : (row + 1) * width + 1]
        own = bounds[records[0] : records[-1] + 1]
        part = cut(values, int(own[0]), int(own[-1]))
        made = Ragged(part, (own - own[0]).astype(dtype))
        if frame.batch is not None:
            made = Ragged(made, (records - records[0]).astype(dtype))
        rows.append(made)
    return objects(rows)
