"""Work on images that is put off until it is all known, to be done in one pass over the rows.

`ds.map(lambda x: ps.image.random_flip_left_right(x).astype(np.float32) / 255)` over shuffled rows takes NumPy
a pass to gather, two to mirror and one to divide. Here each of them is only noted, and whoever first asks
for the rows has them made by `kernels.pixels`. The bits are those that NumPy gives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.columns import DenseColumn, Index
from penstock.blocks.rows import Rows
from penstock.blocks.trace import Trace, marking
from penstock.blocks.warned import reports_errors
from penstock.kernels import loading, pixels
from penstock.kernels.halves import Both
from penstock.kernels.spans import Empty

BYTE, FLOAT = np.dtype(np.uint8), np.dtype(np.float32)
SMALLEST = 64 << 10
"""Blocks of fewer bytes are not worth a note."""
_CODES = {
    np.add: (pixels.ADD, pixels.ADD),
    np.subtract: (pixels.SUBTRACT, pixels.SUBTRACTED),
    np.multiply: (pixels.MULTIPLY, pixels.MULTIPLY),
    np.divide: (pixels.DIVIDE, None),
}
"""The steps of `x op c` and of `c op x`; None where that may divide by zero."""
MOST_STEPS = 4
LEAST, MOST = 1e-6, 1e6
"""With numbers between them and so many steps, nothing made of a byte overflows: NumPy would not warn."""
Step = tuple[int, float]
"""A step of arithmetic, and the number it is done with."""
_NONE: Index = np.zeros(0, np.int64)
_NO_ROW = np.zeros(0, bool)


class Picked(DenseColumn):
    """Rows of a user's array by their numbers, gathered when they are first asked for."""

    __slots__ = ("_empty", "_gathered", "index", "source")

    def __init__(self, source: NDArray[Any], index: Index, empty: Empty) -> None:
        self.source = source
        self.index = index
        self._empty = empty
        self._gathered: NDArray[Any] | None = None

    @property
    def array(self) -> NDArray[Any]:
        """The rows."""
        if self._gathered is None:
            self._gathered = DenseColumn(self.source).take(self.index, self._empty).array
        return self._gathered

    @array.setter
    def array(self, array: NDArray[Any]) -> None:
        self._gathered = array

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.source.dtype

    @property
    def row_shape(self) -> tuple[int, ...]:
        return self.source.shape[1:]

    @property
    def locked(self) -> bool:
        return self._gathered is not None and not self._gathered.flags.writeable

    @property
    def rows(self) -> int:
        return len(self.index)

    @property
    def nbytes(self) -> int:
        return len(self.index) * (self.source.nbytes // max(len(self.source), 1))

    def slice(self, start: int, stop: int) -> DenseColumn:
        if self._gathered is not None:
            return DenseColumn(self._gathered[start:stop])
        return Picked(self.source, self.index[start:stop], self._empty)

    @property
    def waits(self) -> bool:
        """Whether nobody has asked for them yet."""
        return self._gathered is None

    def settle(self) -> bool:
        return self._gathered is None and self.array is not None

    def buffers(self) -> tuple[NDArray[Any], ...]:
        return (self.index,) if self._gathered is None else (self._gathered,)


class Note(NamedTuple):
    """What is to be done with rows, in this order: gather, mirror, cast, compute."""

    source: NDArray[Any]
    numbers: Index = _NONE
    mirrored: NDArray[np.bool_] = _NO_ROW
    axes: pixels.Axes = (1, 1, 1)
    cast: bool = False
    steps: tuple[Step, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of what comes of it, with the row axis."""
        return (len(self.numbers) or len(self.source), *self.source.shape[1:])

    def done(self, empty: Empty, both: Both) -> NDArray[Any]:
        """What comes of it, where it is cast."""
        out = empty(self.shape, FLOAT)
        items = math.prod(self.shape[1:])
        pixels.run(
            self.source.reshape(len(self.source), items),
            self.numbers,
            self.mirrored,
            self.axes,
            *arrays_of(self.steps),
            out.reshape(len(out), items),
            both,
        )
        return out

    def turned(self, rows: NDArray[Any], empty: Empty) -> NDArray[Any]:
        """The rows, gathered, with some of them mirrored."""
        out = empty(rows.shape, rows.dtype)
        np.copyto(out, rows)
        chosen = np.flatnonzero(self.mirrored)
        out.reshape(-1, *self.axes)[chosen] = rows.reshape(-1, *self.axes)[chosen, :, ::-1]
        return out


class Later(Rows):
    """The stand-in of a leaf that is a column of the block, or what is noted to be made of it."""

    __slots__ = ("_column", "_made", "_note")

    def __init__(self, note: Note, trace: Trace, column: DenseColumn) -> None:
        self._trace = trace
        self._note = note
        self._column = column
        self._made: NDArray[Any] | None = None

    @property
    def _held(self) -> NDArray[Any]:  # type: ignore[override]
        if self._made is None:
            self._made = self._make()
        return self._made

    def _make(self) -> NDArray[Any]:
        note, trace = self._note, self._trace
        if note.cast:
            made = note.done(trace.empty, trace.both)
        else:
            made = self._column.array
            trace.sources.append(made)
            if not len(note.mirrored):
                return made
            made = note.turned(made, trace.empty)
        trace.largest = max(trace.largest, made.nbytes)
        return made

    @property
    def _pending(self) -> None:  # type: ignore[override]
        return None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a row."""
        return self._note.shape[1:]

    @property
    def ndim(self) -> int:
        """The rank of a row."""
        return len(self._note.shape) - 1

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of a row."""
        return FLOAT if self._note.cast else self._note.source.dtype

    def _but(self, **changes: Any) -> Later:
        """This, with something more noted."""
        return Later(self._note._replace(**changes), self._trace, self._column)

    @marking
    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        """The row as another dtype."""
        if args or kwargs or self._note.cast or np.dtype(dtype) != FLOAT or reports_errors():
            return super().astype(dtype, *args, **kwargs)
        return self._but(cast=True)

    def _computed(
        self, ufunc: np.ufunc, values: list[Any], dtypes: tuple[np.dtype[Any], ...]
    ) -> Later | None:
        """A step of arithmetic with a number, noted; None where it is something else."""
        steps = self._note.steps
        noted = step(self, len(steps), ufunc, values, dtypes) if self._note.cast else None
        return None if noted is None else self._but(steps=(*steps, noted))

    def _turned(self, coin: NDArray[np.bool_], axis: int) -> Later | None:
        """Mirrored along an axis (a negative number) where the coin says so, noted; None where not."""
        if len(self._note.mirrored) or not len(coin):
            return None
        shape = self.shape
        axes = (math.prod(shape[:axis]), shape[axis], math.prod(shape[axis:][1:]))
        return self._but(mirrored=np.ascontiguousarray(coin, bool), axes=axes)


def step(
    rows: Rows, taken: int, ufunc: np.ufunc, values: list[Any], dtypes: tuple[np.dtype[Any], ...]
) -> Step | None:
    """The step that a ufunc is, after so many that are `taken`; None where it is none to be put off.

    The rows are float32, made of bytes.
    """
    if ufunc not in _CODES or any(dtype != FLOAT for dtype in dtypes):
        return None
    left, right = values
    code = _CODES[ufunc][left is not rows]
    number = right if left is rows else left
    if code is None or taken == MOST_STEPS or not _plain(number) or reports_errors():
        return None
    return code, float(number)


def arrays_of(steps: Sequence[Step]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The codes of steps and their numbers, as the kernels take them."""
    codes = np.array([code for code, _ in steps], np.int64)
    return codes, np.array([number for _, number in steps], np.float32)


def _plain(number: Any) -> bool:
    """Whether it is a number of a size with which nothing overflows."""
    return isinstance(number, int | float | np.float32) and LEAST <= abs(float(number)) <= MOST


def has_images(block: Block) -> bool:
    """Whether there are rows of bytes with which work could be put off."""
    return any(
        isinstance(column, DenseColumn) and column.dtype == BYTE and column.row_shape
        for column in block.columns
    )


def stand_in(column: DenseColumn, trace: Trace) -> Rows | None:
    """The stand-in of a column with which work may be put off; None where it may not."""
    if not loading.ready() or column.nbytes < SMALLEST:
        return None
    if isinstance(column, Picked) and column.waits:
        note = Note(column.source, column.index)
    else:
        note = Note(column.array)
    source = note.source
    if source.dtype != BYTE or source.ndim < 2 or not source.flags.c_contiguous or source.size == 0:
        return None
    return Later(note, trace, column)
