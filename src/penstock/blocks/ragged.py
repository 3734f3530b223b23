"""`Ragged`: rows of unequal length as one value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from penstock.errors import ArgumentError, ArgumentTypeError
from penstock.kernels.spans import offsets_of
from penstock.site import user_site


class Ragged:
    """Rows of unequal length: row `i` is `values[row_splits[i]:row_splits[i + 1]]`.

    `values` is an array, or for rows of rows another `Ragged`.

    >>> import numpy as np
    >>> rows = Ragged(np.array([1, 2, 3]), np.array([0, 2, 2, 3]))
    >>> rows
    Ragged([[1, 2], [], [3]])
    >>> rows[0], len(rows), rows.shape
    (array([1, 2]), 3, (3, None))
    """

    __slots__ = ("row_splits", "values")

    values: NDArray[Any] | Ragged
    row_splits: NDArray[np.integer[Any]]

    def __init__(self, values: NDArray[Any] | Ragged, row_splits: NDArray[np.integer[Any]]) -> None:
        self.values = values if isinstance(values, Ragged) else np.asarray(values)
        self.row_splits = np.asarray(row_splits)
        splits = self.row_splits
        if splits.ndim != 1 or splits.dtype.kind not in "iu" or not len(splits):
            raise ArgumentTypeError(
                f"Ragged(row_splits=) at {user_site()}: expected a vector of whole numbers, such as "
                f"[0, 2, 3], got {splits!r}."
            )
        if splits[0] != 0 or splits[-1] != len(self.values) or (splits[1:] < splits[:-1]).any():
            raise ArgumentError(
                f"Ragged(row_splits=) at {user_site()}: expected numbers that rise from 0 to the "
                f"{len(self.values)} values, got {splits!r}."
            )

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The number of rows, None for their length, and the shape of what is in them."""
        return (len(self), None, *self.values.shape[1:])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of what is in the rows."""
        return self.values.dtype

    @property
    def flat_values(self) -> NDArray[Any]:
        """The array with all that is in the rows, however deep they are nested."""
        return self.values.flat_values if isinstance(self.values, Ragged) else self.values

    @property
    def nbytes(self) -> int:
        """The bytes of the values and the splits."""
        return int(self.values.nbytes) + int(self.row_splits.nbytes)

    def __len__(self) -> int:
        return len(self.row_splits) - 1

    def __getitem__(self, row: int | slice) -> Any:
        if isinstance(row, slice):
            start, stop, step = row.indices(len(self))
            if step != 1:
                raise ValueError(f"expected a slice with a step of 1, got {row}")
            splits = self.row_splits[start : max(start, stop) + 1]
            return Ragged(self.values[int(splits[0]) : int(splits[-1])], splits - splits[0])
        number = row if row >= 0 else row + len(self)
        if not 0 <= number < len(self):
            raise IndexError(f"row {row} of {len(self)}")
        return self.values[int(self.row_splits[number]) : int(self.row_splits[number + 1])]

    def __iter__(self) -> Iterator[Any]:
        return (self[row] for row in range(len(self)))

    def to_list(self) -> list[Any]:
        """The rows as nested lists."""
        values = self.values.to_list() if isinstance(self.values, Ragged) else self.values.tolist()
        bounds = self.row_splits.tolist()
        return [values[a:b] for a, b in pairwise(bounds)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ragged):
            return False
        if not np.array_equal(self.row_splits, other.row_splits):
            return False
        if isinstance(self.values, Ragged) or isinstance(other.values, Ragged):
            return self.values == other.values if type(self.values) is type(other.values) else False
        return self.dtype == other.dtype and np.array_equal(self.values, other.values)

    __hash__ = None  # type: ignore[assignment]

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(
            "A Ragged has rows of unequal length and is no array. Use its .values, its rows one by "
            "one, .to_list(), or padded_batch instead of ragged_batch."
        )

    def __repr__(self) -> str:
        return f"Ragged({self.to_list()})"


def ragged_of(
    flat: NDArray[Any], shapes: NDArray[np.int64], depth: int, splits_dtype: np.dtype[Any]
) -> Ragged:
    """Arrays of these shapes, whose items lie flat one after the other, ragged in `depth` axes."""
    inner: Sequence[int] = shapes[0, depth:].tolist() if len(shapes) else ()
    values: NDArray[Any] | Ragged = flat.reshape(-1, *inner)
    splits = []
    counts = np.ones(len(shapes), np.int64)
    for axis in range(depth):
        lengths = np.repeat(shapes[:, axis], counts)
        splits.append(offsets_of(lengths).astype(splits_dtype))
        counts = counts * shapes[:, axis]
    for level in reversed(splits):
        values = Ragged(values, level)
    assert isinstance(values, Ragged)
    return values


def stacked_rows(rows: Sequence[Any], splits_dtype: Any) -> Ragged:
    """A `Ragged` of these rows, which are arrays or `Ragged` themselves; there is at least one."""
    splits = offsets_of(np.fromiter(map(len, rows), np.int64, len(rows)))
    return Ragged(_joined(rows), splits.astype(splits_dtype))


def _joined(rows: Sequence[Any]) -> NDArray[Any] | Ragged:
    if not isinstance(rows[0], Ragged):
        return np.concatenate(rows)
    lengths = np.concatenate([np.diff(row.row_splits) for row in rows])
    return Ragged(_joined([row.values for row in rows]), offsets_of(lengths).astype(rows[0].row_splits.dtype))
