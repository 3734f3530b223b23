"""`RaggedFeature`: values cut into rows, by numbers that are features themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from penstock.blocks.trace import trusted
from penstock.errors import ArgumentError, ArgumentTypeError
from penstock.graph import checks
from penstock.io.examples.declared import check_name, dtype_of
from penstock.site import user_site


class Partition:
    """How the values of a `RaggedFeature` are cut into rows; one of its inner classes."""


@dataclass(frozen=True)
class _OfKey(Partition):
    key: str

    def __post_init__(self) -> None:
        check_name(self.key, f"RaggedFeature.{type(self).__name__}(key=)")


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
        object.__setattr__(self, "dtype", dtype_of(self.dtype, "RaggedFeature"))
        if self.value_key is not None:
            check_name(self.value_key, "RaggedFeature(value_key=)")
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
