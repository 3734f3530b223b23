"""What is asked for of a tf.train.Example, in tf.io's words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.blocks.trace import trusted
from penstock.errors import ArgumentError
from penstock.graph import checks
from penstock.io.examples.declared import check_name, dtype_of, shape_of, values_of
from penstock.io.examples.ragged_feature import RaggedFeature
from penstock.site import user_site


@trusted
@dataclass(frozen=True, eq=False)
class FixedLenFeature:
    """A feature with the same number of values in every example, as `tf.io.FixedLenFeature`.

    `dtype` is int64, float32 or bytes. An example without the feature has `default_value`; where that
    is None, it is an error.

    >>> import penstock as ps
    >>> example = ps.io.serialize_example({"size": [3, 4]})
    >>> ps.io.parse_single_example(example, {"size": ps.io.FixedLenFeature([2], "int64")})
    {'size': array([3, 4])}
    """

    shape: Any
    dtype: Any
    default_value: Any = None

    def __post_init__(self) -> None:
        call = "FixedLenFeature"
        shape = shape_of(self.shape, call)
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "dtype", dtype_of(self.dtype, call))
        if self.default_value is not None:
            values = values_of(self.default_value, self.dtype, call)
            if values.size != math.prod(shape):
                raise ArgumentError(
                    f"{call}(default_value=) at {user_site()}: expected {math.prod(shape)} values, for the "
                    f"shape {shape}, got {values.size}."
                )
            object.__setattr__(self, "default_value", values.reshape(shape))


@trusted
@dataclass(frozen=True, eq=False)
class VarLenFeature:
    """A feature with any number of values, as `tf.io.VarLenFeature`.

    An example gives an array of rank 1, a batch of them a `ps.Ragged`; one without the feature has none.

    >>> import penstock as ps
    >>> examples = [ps.io.serialize_example({"ids": [1, 2]}), ps.io.serialize_example({})]
    >>> ps.io.parse_example(examples, {"ids": ps.io.VarLenFeature("int64")})
    {'ids': Ragged([[1, 2], []])}
    """

    dtype: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", dtype_of(self.dtype, "VarLenFeature"))


@trusted
@dataclass(frozen=True, eq=False)
class FixedLenSequenceFeature:
    """A feature with any number of entries of one shape, as `tf.io.FixedLenSequenceFeature`.

    The examples of a batch are padded with `default_value` (0, or no bytes) to the longest.

    >>> import penstock as ps
    >>> example = ps.io.serialize_example({"box": [1, 2, 3, 4]})
    >>> boxes = ps.io.FixedLenSequenceFeature([2], "int64", allow_missing=True)
    >>> ps.io.parse_single_example(example, {"box": boxes})["box"].tolist()
    [[1, 2], [3, 4]]
    """

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None

    def __post_init__(self) -> None:
        call = "FixedLenSequenceFeature"
        object.__setattr__(self, "shape", shape_of(self.shape, call, least=1))
        object.__setattr__(self, "dtype", dtype_of(self.dtype, call))
        checks.flag(self.allow_missing, f"{call}(allow_missing=)")
        if self.default_value is not None:
            values = values_of(self.default_value, self.dtype, call)
            if values.size != 1:
                raise ArgumentError(
                    f"{call}(default_value=) at {user_site()}: expected one value to pad with, got "
                    f"{values.size}."
                )
            object.__setattr__(self, "default_value", values.reshape(())[()])


@trusted
@dataclass(frozen=True, eq=False)
class SparseFeature:
    """Values and where they are in a large array of zeros, as `tf.io.SparseFeature`.

    It gives a `SparseValue`. `index_key` names the feature with the indices, or one for each axis;
    `size` is how long each axis is. Indices are sorted, unless they are `already_sorted`.

    >>> import penstock as ps
    >>> example = ps.io.serialize_example({"at": [5, 2], "v": [0.5, 1.5]})
    >>> words = ps.io.SparseFeature("at", "v", "float32", size=10)
    >>> ps.io.parse_single_example(example, {"words": words})["words"].indices.tolist()
    [[2], [5]]
    """

    index_key: Any
    value_key: str
    dtype: Any
    size: Any
    already_sorted: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", dtype_of(self.dtype, "SparseFeature"))
        keys = (self.index_key,) if isinstance(self.index_key, str) else tuple(self.index_key)
        single = not isinstance(self.size, Sequence | np.ndarray)
        sizes = (self.size,) if single else tuple(self.size)
        for key in (*keys, self.value_key):
            check_name(key, "SparseFeature(index_key=, value_key=)")
        if not keys or len(keys) != len(sizes):
            raise ArgumentError(
                f"SparseFeature(index_key=, size=) at {user_site()}: expected as many sizes as keys, got "
                f"{len(sizes)} and {len(keys)}."
            )
        object.__setattr__(self, "index_key", keys)
        object.__setattr__(
            self, "size", tuple(checks.count(size, "SparseFeature(size=)", least=0) for size in sizes)
        )
        checks.flag(self.already_sorted, "SparseFeature(already_sorted=)")


Feature = FixedLenFeature | VarLenFeature | FixedLenSequenceFeature | RaggedFeature | SparseFeature
