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
from penstock.blocks.picked import Picked
from penstock.blocks.placed_rows import is_placed, row_places
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
_NO_ROW = np.zeros(0, bool)


class Note(NamedTuple):
    """What is to be done with the rows of a column, in this order: mirror, cast, compute."""

    column: DenseColumn
    mirrored: NDArray[np.bool_] = _NO_ROW
    axes: pixels.Axes = (1, 1, 1)
    cast: bool = False
    steps: tuple[Step, ...] = ()
    whole: NDArray[Any] | None = None
    """The array that the column is a view of, in another shape."""

    def done(self, empty: Empty, both: Both) -> NDArray[Any]:
        """What comes of it, where it is cast."""
        begins, held = _places(self.column)
        shape = self.column.row_shape
        out = empty((len(begins), *shape), FLOAT)
        rows = out.reshape(len(out), math.prod(shape))
        pixels.run(begins, self.mirrored, self.axes, *arrays_of(self.steps), rows, both)
        del held
        return out

    def turned(self, rows: NDArray[Any], empty: Empty) -> NDArray[Any]:
        """The rows, gathered, with some of them mirrored."""
        out = empty(rows.shape, rows.dtype)
        np.copyto(out, rows)
        chosen = np.flatnonzero(self.mirrored)
        out.reshape(-1, *self.axes)[chosen] = rows.reshape(-1, *self.axes)[chosen, :, ::-1]
        return out


def _places(column: DenseColumn) -> tuple[Index, Any]:
    """The addresses of the rows, and what is to be held while they are used."""
    if isinstance(column, Picked) and column.waits:
        source = column.source
        return source.ctypes.data + column.index * source[:1].nbytes, source
    places = row_places(column)
    assert places is not None  # those of a stand-in are one piece each
    return places


class Later(Rows):
    """The stand-in of a leaf that is a column of the block, or what is noted to be made of it.

    Rows that are still where they were read to stay there until a function asks for more than their shape.
    """

    __slots__ = ("_made", "_note")

    def __init__(self, note: Note, trace: Trace) -> None:
        self._trace = trace
        self._note = note
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
            made = note.column.array
            trace.sources.append(made if note.whole is None else note.whole)
            if not len(note.mirrored):
                return made
            made = note.turned(made, trace.empty)
        trace.largest = max(trace.largest, made.nbytes)
        return made

    @property
    def placed(self) -> DenseColumn | None:
        """The rows, where they are still where they were read to; None where something is to be done."""
        column = self._note.column
        return None if self._changes or not is_placed(column) else column

    @property
    def _pending(self) -> None:  # type: ignore[override]
        return None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a row."""
        return self._note.column.row_shape

    @property
    def ndim(self) -> int:
        """The rank of a row."""
        return len(self._note.column.row_shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of a row."""
        return FLOAT if self._note.cast else self._note.column.dtype

    @property
    def _notes(self) -> bool:
        """Whether something more may be noted: what has been made may have been changed since."""
        return puts_off(self._note.column) and (self._made is None or not self._changes)

    @property
    def _changes(self) -> bool:
        return self._note.cast or bool(len(self._note.mirrored))

    def _but(self, **changes: Any) -> Later:
        """This, with something more noted."""
        return Later(self._note._replace(**changes), self._trace)

    @marking
    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        """The row as another dtype."""
        column = self._note.column
        plain = not args and not kwargs and np.dtype(dtype) == FLOAT and not reports_errors()
        if plain and not self._note.cast and column.dtype == BYTE:
            if self._notes:
                return self._but(cast=True)
            if not loading.ready() and column.nbytes >= SMALLEST:
                self._trace.missed += column.nbytes
        return super().astype(dtype, *args, **kwargs)

    @marking
    def reshape(self, *shape: Any, **named: Any) -> Any:
        """The row in another shape."""
        # Of what is made it is to be a view.
        sizes = None if named or self._changes else _sizes(shape, self.size)
        if sizes is not None:
            column = self._note.column
            return self._but(column=column.reshaped(sizes), whole=_laid(column))
        return Rows.__getattr__(self, "reshape")(*shape, **named)

    def _computed(
        self, ufunc: np.ufunc, values: list[Any], dtypes: tuple[np.dtype[Any], ...]
    ) -> Later | None:
        """A step of arithmetic with a number, noted; None where it is something else."""
        steps = self._note.steps
        noted = step(self, len(steps), ufunc, values, dtypes) if self._note.cast and self._notes else None
        return None if noted is None else self._but(steps=(*steps, noted))

    def _turned(self, coin: NDArray[np.bool_], axis: int) -> Later | None:
        """Mirrored along an axis (a negative number) where the coin says so, noted; None where not."""
        if len(self._note.mirrored) or not len(coin) or not self._notes:
            return None
        shape = self.shape
        axes = (math.prod(shape[:axis]), shape[axis], math.prod(shape[axis:][1:]))
        return self._but(mirrored=np.ascontiguousarray(coin, bool), axes=axes)


def _laid(column: DenseColumn) -> NDArray[Any] | None:
    """Its array, where there is one already."""
    waits = is_placed(column) or (isinstance(column, Picked) and column.waits)
    return None if waits else column.array


def _sizes(shape: tuple[Any, ...], items: int) -> tuple[int, ...] | None:
    """The shape that `reshape` is asked for, of rows of so many items; None where that is NumPy's to say."""
    sizes = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
    if not items or not all(type(size) is int and (size > 0 or size == -1) for size in sizes):
        return None
    if sizes.count(-1) == 1:
        sizes = tuple(items // abs(math.prod(sizes)) if size == -1 else size for size in sizes)
    return sizes if math.prod(sizes) == items and -1 not in sizes else None


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


def puts_off(column: DenseColumn) -> bool:
    """Whether work with these rows is worth a note, and the kernel for it there."""
    if not loading.ready() or column.dtype != BYTE or not column.row_shape or column.nbytes < SMALLEST:
        return False
    if is_placed(column):
        return True
    array = column.source if isinstance(column, Picked) and column.waits else column.array
    return array.flags.c_contiguous


def stand_in(column: DenseColumn, trace: Trace) -> Rows | None:
    """The stand-in of a column with which work may be put off; None where it may not."""
    if not is_placed(column) and not puts_off(column):
        return None
    return Later(Note(column), trace)
