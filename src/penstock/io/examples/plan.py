"""Which class reads which feature, and what it asks for of a record."""

from __future__ import annotations

import math

import numpy as np

from penstock.errors import ArgumentError
from penstock.io.examples.features import (
    Feature,
    FixedLenFeature,
    FixedLenSequenceFeature,
    SparseFeature,
    VarLenFeature,
)
from penstock.io.examples.found import Slot
from penstock.io.examples.partitioned import Partitioned
from penstock.io.examples.ragged_feature import RaggedFeature
from penstock.io.examples.readings import Fixed, Reading, Sequences, VarLen
from penstock.io.examples.sparse import Sparse

INT64 = np.dtype(np.int64)


def reading_of(name: str, feature: Feature, call: str) -> Reading:
    """What reads a feature that the user calls by that name."""
    if isinstance(feature, FixedLenFeature):
        may_miss = feature.default_value is not None
        return Fixed(feature, [Slot(name, name, feature.dtype, math.prod(feature.shape), 1, may_miss)])
    if isinstance(feature, VarLenFeature):
        return VarLen([Slot(name, name, feature.dtype)], INT64)
    if isinstance(feature, FixedLenSequenceFeature):
        if not feature.allow_missing:
            raise ArgumentError(
                f"{call}(features=): expected allow_missing=True for the FixedLenSequenceFeature {name!r}: "
                f"without it, it is for sequence examples."
            )
        stride = math.prod(feature.shape)
        return Sequences(feature, [Slot(name, name, feature.dtype, stride=stride)])
    if isinstance(feature, SparseFeature):
        keys = [Slot(name, key, INT64) for key in feature.index_key]
        return Sparse(name, feature, [*keys, Slot(name, feature.value_key, feature.dtype)])
    values = Slot(name, feature.value_key or name, feature.dtype)
    if not feature.partitions:
        return VarLen([values], feature.row_splits_dtype)
    keyed = [part for part in feature.partitions if not isinstance(part, RaggedFeature.UniformRowLength)]
    return Partitioned(name, feature, [values, *[Slot(name, part.key, INT64) for part in keyed]])
