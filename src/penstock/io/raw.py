"""`decode_raw`: bytes as the numbers that they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.columns import BytesColumn, Column, DenseColumn, RaggedColumn
from penstock.blocks.extended import is_extended
from penstock.blocks.later import Later, Note
from penstock.blocks.placed import PlacedStrings, places_of
from penstock.blocks.placed_rows import PlacedRows
from penstock.blocks.spec import BYTES, OBJECT, TensorSpec
from penstock.blocks.trace import Opaque, RowFailed, StandIn, Undecided, block_function
from penstock.errors import ArgumentError, ArgumentTypeError, DataError
from penstock.graph import checks
from penstock.io.examples.parse import made_up, stand_in
from penstock.kernels.spans import Empty, scatter_spans

Index = NDArray[np.int64]
CALL = "ps.io.decode_raw"


class _Bad(Exception):  # noqa: N818
    """A string that is not right, by its number."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(message)
        self.number = number


class _OfAnyLength(Undecided):
    """A decoded leaf in a trial: its length is not known, but it may be given a shape."""

    __slots__ = ()

    def reshape(self, *shape: Any) -> Any:
        """A leaf of that shape, if it says all sizes."""
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        if not all(isinstance(size, int) and size >= 0 for size in sizes) or self._spec is None:
            self._refuse("uses .reshape")
        return made_up(TensorSpec(sizes, self._spec.dtype), self._trace, settled=True)


def _over_block(
    input_bytes: Any,
    out_type: Any,
    little_endian: bool = True,
    fixed_length: int | None = None,
    name: Any = None,  # noqa: ARG001
) -> Any:
    assert isinstance(input_bytes, StandIn)
    trace = input_bytes._trace
    dtype, fixed = _checked(out_type, little_endian, fixed_length)
    if not isinstance(input_bytes, Opaque):
        trace.refuse("decodes something that is not bytes")
    trace.may_raise = True
    spec, column = input_bytes._spec, input_bytes._column
    if spec is not None:
        if spec.dtype != BYTES or spec.shape is None:
            trace.refuse("decodes something that is not bytes")
        made = TensorSpec(
            (*spec.shape, None if fixed is None else fixed // dtype.itemsize), dtype.newbyteorder("=")
        )
        if fixed is not None and None not in spec.shape:
            return made_up(made, trace, settled=True)
        trace.made_up = True
        return _OfAnyLength(column, trace, made)
    if not isinstance(column, BytesColumn) or column.text:
        trace.refuse("decodes something that is not bytes")
    try:
        decoded = _decoded(column, dtype, fixed, trace.empty)
    except _Bad as bad:
        raise RowFailed(bad.number // column.width) from None
    if isinstance(decoded, DenseColumn):
        trace.largest = max(trace.largest, decoded.nbytes)
        return Later(Note(decoded), trace)
    return stand_in(decoded, trace)


@block_function(_over_block)
def decode_raw(
    input_bytes: Any,
    out_type: Any,
    little_endian: bool = True,
    fixed_length: int | None = None,
    name: Any = None,  # noqa: ARG001
) -> Any:
    """Read bytes as numbers of a dtype, as `tf.io.decode_raw` does.

    With `fixed_length`, so many bytes are read, and zeros where there are fewer. An array of bytes, all
    of one length, gives an array with one more axis. What comes back cannot be written to: it is the
    bytes themselves where the machine's byte order is theirs.

    >>> import penstock as ps
    >>> ps.io.decode_raw(b"\\x01\\x00\\x02\\x00", "int16")
    array([1, 2], dtype=int16)
    >>> ps.io.decode_raw([b"ab", b"c"], "uint8", fixed_length=2)
    array([[97, 98],
           [99,  0]], dtype=uint8)
    """
    dtype, fixed = _checked(out_type, little_endian, fixed_length)
    column, shape = _as_column(input_bytes)
    if column is None:
        return np.zeros((*shape, (fixed or 0) // dtype.itemsize), dtype.newbyteorder("="))
    try:
        return _decoded(column.reshaped(shape), dtype, fixed, np.empty).item(0)
    except _Bad as bad:
        which = f" in string {bad.number}" if shape else ""
        raise DataError(f"{CALL}{which}: {bad}.") from None


def _checked(out_type: Any, little_endian: Any, fixed_length: Any) -> tuple[np.dtype[Any], int | None]:
    try:
        dtype = np.dtype(out_type)
    except TypeError:
        dtype = OBJECT
    if dtype.kind not in "biufc" and not is_extended(dtype):
        raise ArgumentTypeError(f"{CALL}(out_type=): expected a dtype of numbers, got {out_type!r}.")
    checks.flag(little_endian, f"{CALL}(little_endian=)")
    if fixed_length is not None:
        fixed_length = checks.count(fixed_length, f"{CALL}(fixed_length=)", least=1)
        if fixed_length % dtype.itemsize:
            raise ArgumentError(
                f"{CALL}(fixed_length=): expected a multiple of {dtype.itemsize}, the bytes of a {dtype}, "
                f"got {fixed_length}."
            )
    return dtype.newbyteorder("<" if little_endian else ">"), fixed_length


def _as_column(value: Any) -> tuple[BytesColumn | None, tuple[int, ...]]:
    """The strings as a column of one row, None if there are none, and their shape."""
    if isinstance(value, bytes | bytearray | memoryview):
        raw = np.frombuffer(value, np.uint8)
        return BytesColumn(raw, np.array([0, len(raw)]), text=False), ()
    array = value if isinstance(value, np.ndarray) and value.dtype == object else np.array(value, object)
    flat = array.ravel().tolist()
    if not all(isinstance(one, bytes) for one in flat) or isinstance(value, str):
        raise ArgumentTypeError(f"{CALL}(input_bytes=): expected bytes, got a {type(value).__name__}.")
    if not flat:
        return None, array.shape
    ends = np.cumsum([0, *map(len, flat)])
    return BytesColumn(np.frombuffer(b"".join(flat), np.uint8), ends, text=False), array.shape


def _decoded(column: BytesColumn, dtype: np.dtype[Any], fixed: int | None, empty: Empty) -> Column:
    """A column of numbers; a view where all strings have one length and lie as the dtype wants them."""
    if isinstance(column, PlacedStrings) and not column.shape and dtype.isnative and dtype.kind != "b":
        placed = _where_they_lie(column, dtype, fixed, empty)
        if placed is not None:
            return placed
    offsets, rows = column.offsets, column.rows
    lengths = np.diff(offsets)
    values, size = column.values[offsets[0] : offsets[-1]], fixed
    if fixed is None:
        odd = np.flatnonzero(lengths % dtype.itemsize)
        if len(odd):
            number = int(odd[0])
            raise _Bad(
                number,
                f"expected a multiple of {dtype.itemsize} bytes, for {dtype.name}, got {lengths[number]}",
            )
        size = int(lengths[0])
        if column.shape and (lengths.reshape(rows, -1) != lengths[:: column.width, None]).any():
            number = int(
                np.flatnonzero((lengths.reshape(rows, -1) != lengths[:: column.width, None]).ravel())[0]
            )
            first = number - number % column.width
            raise _Bad(
                number, f"expected {lengths[first]} bytes, as in the first string, got {lengths[number]}"
            )
    if (lengths != size).any():
        if fixed is None:
            return _ragged(column, values, lengths, dtype)
        filled = empty(len(lengths) * fixed, np.dtype(np.uint8))
        filled[:] = 0
        places = np.arange(len(lengths)) * fixed
        scatter_spans(filled, places, column.values, offsets[:-1], np.minimum(lengths, fixed))
        values = filled
    items = _as_numbers(values, dtype)
    return DenseColumn(items.reshape(rows, *column.shape, (size or 0) // dtype.itemsize))


def _where_they_lie(
    column: PlacedStrings, dtype: np.dtype[Any], fixed: int | None, empty: Empty
) -> PlacedRows | None:
    """The numbers of strings of one length, where they lie; None where they are not of one length."""
    begins, lengths, held = places_of(column)
    size = int(lengths[0]) if fixed is None else fixed
    if size % dtype.itemsize or (lengths != size).any():
        return None
    return PlacedRows(begins, held, dtype.newbyteorder("="), (size // dtype.itemsize,), empty)


def _ragged(column: BytesColumn, values: NDArray[np.uint8], lengths: Index, dtype: np.dtype[Any]) -> Column:
    per_row = lengths[:: column.width] // dtype.itemsize
    shapes = np.empty((column.rows, len(column.shape) + 1), np.int64)
    shapes[:, :-1], shapes[:, -1] = column.shape, per_row
    bounds = (column.offsets[:: column.width] - column.offsets[0]) // dtype.itemsize
    return RaggedColumn(_as_numbers(values, dtype), bounds, shapes)


def _as_numbers(values: NDArray[np.uint8], dtype: np.dtype[Any]) -> NDArray[Any]:
    if dtype.kind == "b":
        items: NDArray[Any] = values != 0  # any other byte is no bool of NumPy's
    else:
        items = values.view(dtype)
        if not items.dtype.isnative or not items.flags.aligned:
            items = items.astype(dtype.newbyteorder("="))
    items = items.view()
    items.flags.writeable = False
    return items
