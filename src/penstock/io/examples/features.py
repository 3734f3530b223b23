"""What is asked for of a tf.train.Example, in tf.io's words."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.spec import BYTES
from penstock.blocks.trace import trusted
from penstock.errors import ArgumentError, ArgumentTypeError
from penstock.graph import checks
from penstock.graph.site import user_site

DTYPES: dict[str, np.dtype[Any]] = {
    "int64": np.dtype(np.int64),
    "float32": np.dtype(np.float32),
    "string": BYTES,
    "bytes": BYTES,
}


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
        shape = _shape(self.shape, call)
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "dtype", _dtype(self.dtype, call))
        if self.default_value is not None:
            values = _values(self.default_value, self.dtype, call)
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
        object.__setattr__(self, "dtype", _dtype(self.dtype, "VarLenFeature"))


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
        object.__setattr__(self, "shape", _shape(self.shape, call, least=1))
        object.__setattr__(self, "dtype", _dtype(self.dtype, call))
        checks.flag(self.allow_missing, f"{call}(allow_missing=)")
        if self.default_value is not None:
            values = _values(self.default_value, self.dtype, call)
            if values.size != 1:
                raise ArgumentError(
                    f"{call}(default_value=) at {user_site()}: expected one value to pad with, got "
                    f"{values.size}."
                )
            object.__setattr__(self, "default_value", values.reshape(())[()])


class Partition:
    """How the values of a `RaggedFeature` are cut into rows; one of its inner classes."""


@dataclass(frozen=True)
class _OfKey(Partition):
    key: str

    def __post_init__(self) -> None:
        _text(self.key, f"RaggedFeature.{type(self).__name__}(key=)")


class _RowSplits(_OfKey):
    """The feature `key` has the splits: where each row begins, and where the last one ends."""


class _RowLengths(_OfKey):
    """The feature `key` has the length of each row."""


class _RowStarts(_OfKey):
    """The feature `key` has where each row begins."""


class _RowLimits(_OfKey):
    """The feature `key` has where each row ends."""


class _ValueRowIds(_OfKey):
    """The feature `key` has the row of each value."""


@dataclass(frozen=True)
class _UniformRowLength(Partition):
    """Rows of one length."""

    length: int

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "length", checks.count(self.length, "RaggedFeature.UniformRowLength(length=)", least=1)
        )


@trusted
@dataclass(frozen=True, eq=False)
class RaggedFeature:
    """A feature with any number of values, cut into rows, as `tf.io.RaggedFeature`.

    Without `partitions` it is what a `VarLenFeature` is. Each partition cuts what the ones after it
    made: the last cuts the values of the feature `value_key`.

    >>> import penstock as ps
    >>> example = ps.io.serialize_example({"v": [3, 1, 4], "n": [2, 0, 1]})
    >>> rows = ps.io.RaggedFeature("int64", "v", [ps.io.RaggedFeature.RowLengths("n")])
    >>> ps.io.parse_single_example(example, {"rows": rows})
    {'rows': Ragged([[3, 1], [], [4]])}
    """

    dtype: Any
    value_key: str | None = None
    partitions: Any = ()
    row_splits_dtype: Any = np.int32
    validate: bool = False

    RowSplits: ClassVar = _RowSplits
    RowLengths: ClassVar = _RowLengths
    RowStarts: ClassVar = _RowStarts
    RowLimits: ClassVar = _RowLimits
    ValueRowIds: ClassVar = _ValueRowIds
    UniformRowLength: ClassVar = _UniformRowLength

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", _dtype(self.dtype, "RaggedFeature"))
        if self.value_key is not None:
            _text(self.value_key, "RaggedFeature(value_key=)")
        parts = tuple(self.partitions)
        if not all(isinstance(part, Partition) for part in parts):
            raise ArgumentTypeError(
                f"RaggedFeature(partitions=) at {user_site()}: expected RaggedFeature.RowSplits(key) and its "
                f"like, got {self.partitions!r}."
            )
        object.__setattr__(self, "partitions", parts)
        splits = np.dtype(self.row_splits_dtype)
        if splits not in (np.int32, np.int64):
            raise ArgumentError(
                f"RaggedFeature(row_splits_dtype=) at {user_site()}: expected int32 or int64, got {splits}."
            )
        object.__setattr__(self, "row_splits_dtype", splits)
        checks.flag(self.validate, "RaggedFeature(validate=)")


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
        object.__setattr__(self, "dtype", _dtype(self.dtype, "SparseFeature"))
        keys = (self.index_key,) if isinstance(self.index_key, str) else tuple(self.index_key)
        single = not isinstance(self.size, Sequence | np.ndarray)
        sizes = (self.size,) if single else tuple(self.size)
        for key in (*keys, self.value_key):
            _text(key, "SparseFeature(index_key=, value_key=)")
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


def _dtype(dtype: Any, call: str) -> np.dtype[Any]:
    try:
        known = DTYPES.get(dtype) if isinstance(dtype, str) else None
        made: np.dtype[Any] | None = np.dtype(dtype) if known is None else known
    except TypeError:
        made = None
    if made is None or made not in DTYPES.values():
        raise ArgumentTypeError(
            f"{call}(dtype=) at {user_site()}: expected int64, float32 or bytes, which is what an Example "
            f"holds, got {dtype!r}. Convert to others with x.astype(...) afterwards."
        )
    return made


def _shape(shape: Any, call: str, least: int = 0) -> tuple[int, ...]:
    try:
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        sizes = tuple(map(operator.index, sizes))
    except TypeError:
        sizes = (-1,)
    if any(size < least for size in sizes):
        raise ArgumentError(f"{call}(shape=) at {user_site()}: expected whole sizes, got {shape!r}.")
    return sizes


def _values(value: Any, dtype: np.dtype[Any], call: str) -> NDArray[Any]:
    """A default value as an array of that dtype, of objects for bytes."""
    if dtype == BYTES:
        flat = np.array(value, object)
        flat = np.array([one.encode() if isinstance(one, str) else one for one in flat.flat], object)
        if all(isinstance(one, bytes) for one in flat):
            return flat
    else:
        array = np.asarray(value)
        if array.dtype != object and (np.can_cast(array.dtype, dtype, "same_kind") or not array.size):
            return array.astype(dtype).ravel()
    name = "bytes" if dtype == BYTES else str(dtype)
    raise ArgumentTypeError(f"{call}(default_value=) at {user_site()}: expected {name}, got {value!r}.")


def _text(value: Any, call: str) -> None:
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{call} at {user_site()}: expected the name of a feature, got {value!r}.")
