"""Columns and blocks made from elements, and from one another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.columns import (
    BytesColumn,
    Column,
    DenseColumn,
    ObjectColumn,
    RaggedColumn,
)
from penstock.blocks.structure import Structure
from penstock.kernels.spans import Empty, offsets_of

if TYPE_CHECKING:  # worker processes start without it
    from penstock.blocks.origin import Origin

READY = frozenset(
    kind for kind in np.sctypeDict.values() if not issubclass(kind, np.flexible | np.object_)
) | {bytes, type(None)}
"""The exact types of values that are leaves as they are."""


def _whole(number: int) -> Any:
    return np.int64(number) if -(1 << 63) <= number < 1 << 63 else number


NUMBERS: dict[type, Callable[[Any], Any]] = {int: _whole, float: np.float64, bool: np.bool_}
"""What makes leaves of Python's own numbers, by their exact types; whole ones beyond 64 bits it leaves."""


class LeafError(TypeError):
    """A value that cannot be a leaf. The message says what it is and what to do."""


def as_leaf(value: Any) -> Any:
    """A user's value as a leaf: a NumPy array or scalar, `bytes`, `str`, or the object itself."""
    kind = type(value)
    if kind in NUMBERS:
        value = NUMBERS[kind](value)
        kind = type(value)
    if kind in READY:
        return value
    if kind is np.ndarray:
        plain = value.ndim and value.dtype.kind not in "UO" and value.dtype.isnative
        return value if plain else _of_array(value)
    if isinstance(value, str):
        check_text((value,))
        return str(value)
    if isinstance(value, np.ndarray):
        if isinstance(value, np.ma.MaskedArray):
            raise LeafError(
                "a masked array, whose mask would be lost. Use x.filled(...), or (x.data, x.mask)"
            )
        return _of_array(np.asarray(value))
    if isinstance(value, np.bytes_):
        return bytes(value)
    if isinstance(value, bytes | np.generic):
        return value
    if isinstance(value, bool | int | float | complex):
        made = np.asarray(value)[()]
        if not isinstance(made, np.generic):
            raise LeafError(f"the whole number {_short(value)}, beyond 64 bits. Use float(x), or str(x)")
        return made
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if isinstance(value, list):
        return _array_of_list(value)
    if isinstance(value, tuple | dict):
        return value
    if isinstance(value, type) or callable(value):
        return value
    try:
        array = np.asarray(value)
    except Exception:  # an object that only looks like an array stays what it is
        return value
    return value if array.dtype == object else as_leaf(array)


def leaves_of(structure: Structure, element: Any) -> list[Any]:
    """The leaves of an element; `TypeError` if it has another structure, `LeafError` if one is no leaf."""
    if type(element) is np.ndarray and structure.kind is None:
        return [as_leaf(element)]
    return [as_leaf(leaf) for leaf in structure.flatten(element)]


def _of_array(array: NDArray[Any]) -> Any:
    """An array as a leaf: one without axes is a scalar, as it would come back out of a block."""
    if array.dtype.kind == "U":
        points = np.ascontiguousarray(array).reshape(-1).view(np.uint32 if array.dtype.isnative else ">u4")
        if ((points >= 0xD800) & (points <= 0xDFFF)).any():
            check_text(array.ravel().tolist())
    elif array.dtype == object:
        check_text([item for item in array.flat if isinstance(item, str)])
    if array.ndim:
        return in_native_order(array)
    item = array[()]
    return array if isinstance(item, tuple | dict | list | np.ndarray) else as_leaf(item)


def check_text(strings: Sequence[str]) -> None:
    """Refuse text that UTF-8 cannot hold."""
    try:
        "".join(strings).encode()
    except UnicodeEncodeError:
        bad = next(text for text in strings if any("\ud800" <= letter <= "\udfff" for letter in text))
        raise LeafError(
            f"the text {_short(bad)} with half of a surrogate pair, which is no character. "
            f"Use bytes: x.encode(errors='surrogatepass')"
        ) from None


def _short(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _array_of_list(value: list[Any]) -> Any:
    if value and all(isinstance(item, bytes | str) for item in value):
        check_text([item for item in value if isinstance(item, str)])
        out = np.empty(len(value), object)
        out[:] = value
        return out
    try:
        made = np.asarray(value)
    except ValueError as error:
        raise LeafError(
            f"a list that is no array of one shape: {str(error).rstrip('.')}. Pad its parts, or use a tuple "
            f"of arrays"
        ) from None
    if made.dtype.kind in "SU" and not all(
        isinstance(item, bytes | str) for item in np.asarray(value, object).flat
    ):
        raise LeafError(
            f"a list of strings and others, {_short(value)}: as one array, all would become strings. "
            f"Use a tuple of arrays, or str(x) if strings are meant"
        )
    if made.dtype == object:
        for item in made.flat:
            if isinstance(item, int) and not -(1 << 63) <= item < 1 << 64:
                raise LeafError(
                    f"a list with the whole number {_short(item)}, beyond 64 bits. Use floats, or strings"
                )
    if isinstance(made, np.ndarray) and any(isinstance(item, np.ma.MaskedArray) for item in value):
        raise LeafError("a list of masked arrays, whose masks would be lost. Use x.filled(...)")
    return made


def column_of(leaves: Sequence[Any]) -> Column:
    """The column of these leaves, one a row; at least one."""
    first = leaves[0]
    kinds = {type(leaf) for leaf in leaves}
    if len(kinds) == 1:
        if isinstance(first, bytes):
            return _of_strings(leaves, text=False)
        if isinstance(first, str):
            return _of_texts(leaves)
        if isinstance(first, np.ndarray):
            return _of_arrays(leaves)
    if all(isinstance(leaf, np.generic) for leaf in leaves):
        dtypes = {leaf.dtype for leaf in leaves}
        if len(dtypes) == 1 and first.dtype.kind not in "SUVO":
            return DenseColumn(np.array(leaves, dtype=first.dtype))
    return _of_objects(leaves)


def _of_arrays(leaves: Sequence[NDArray[Any]]) -> Column:
    first = leaves[0]
    dtype, ndim = first.dtype, first.ndim
    shapes = [leaf.shape for leaf in leaves]
    same_shape = shapes.count(first.shape) == len(leaves)
    if all(leaf.dtype.kind in "SUO" for leaf in leaves):
        return _of_string_arrays(leaves) if same_shape else _of_objects(leaves)
    if not all(leaf.dtype == dtype and leaf.ndim == ndim for leaf in leaves):
        return _of_objects(leaves)
    if same_shape:
        if len(leaves) == 1:
            return DenseColumn(np.asarray(first, order="C")[None])
        joined = np.concatenate(leaves) if ndim else np.stack(leaves)
        return DenseColumn(joined.reshape(len(leaves), *first.shape))
    values = np.concatenate(leaves if ndim == 1 else [leaf.ravel() for leaf in leaves])
    lengths = np.array(shapes, np.int64)
    return RaggedColumn(values, offsets_of(lengths.prod(axis=1)), lengths)


def _of_string_arrays(leaves: Sequence[NDArray[Any]]) -> Column:
    shape = leaves[0].shape
    flat = [item for leaf in leaves for item in leaf.ravel().tolist()]
    if flat and all(isinstance(item, bytes) for item in flat):
        return _of_strings(flat, text=False, shape=shape)
    if flat and all(isinstance(item, str) for item in flat):
        return _of_texts(flat, shape)
    return _of_objects(leaves)


def _of_strings(leaves: Sequence[bytes], *, text: bool, shape: tuple[int, ...] = ()) -> BytesColumn:
    lengths = np.fromiter(map(len, leaves), np.int64, len(leaves))
    values = np.frombuffer(b"".join(leaves), np.uint8)
    return BytesColumn(values, offsets_of(lengths), text=text, shape=shape)


def _of_texts(leaves: Sequence[str], shape: tuple[int, ...] = ()) -> BytesColumn:
    joined = "".join(leaves)
    if not joined.isascii():
        return _of_strings([leaf.encode() for leaf in leaves], text=True, shape=shape)
    lengths = np.fromiter(map(len, leaves), np.int64, len(leaves))
    values = np.frombuffer(joined.encode(), np.uint8)
    return BytesColumn(values, offsets_of(lengths), text=True, shape=shape)


def _of_objects(leaves: Iterable[Any]) -> ObjectColumn:
    items = list(leaves)
    array = np.empty(len(items), object)
    for i, item in enumerate(items):
        # Arrays of strings come out of every column as arrays of objects, whatever lies beside them.
        strings = isinstance(item, np.ndarray) and item.dtype.kind in "SU"
        array[i] = item.astype(object) if strings else item
    return ObjectColumn(array)


def in_native_order(array: NDArray[Any]) -> NDArray[Any]:
    """The array in the machine's order of bytes: what NumPy makes of several arrays together is, too."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def column_of_array(array: NDArray[Any]) -> Column:
    """The column whose rows are `array`'s slices along its first axis; a view if it can be."""
    if array.dtype.kind not in "SUO":
        return DenseColumn(in_native_order(array))
    if not len(array):
        return ObjectColumn(array)
    if array.ndim == 1:
        flat = array.tolist()
        kinds = set(map(type, flat))
        if kinds == {bytes}:
            return _of_strings(flat, text=False)
        if kinds == {str}:
            return _of_texts(flat)
    return column_of([as_leaf(row) for row in array])


def block_of(structure: Structure, elements: Sequence[Any]) -> Block:
    """The block of these elements, all of one structure; at least one."""
    flat = [[as_leaf(leaf) for leaf in structure.flatten(element)] for element in elements]
    columns = [column_of(leaves) for leaves in zip(*flat, strict=True)]
    return Block(structure, columns, len(elements))


def repeated(leaf: Any, rows: int) -> Column:
    """A column with the same leaf in every row."""
    return column_of([as_leaf(leaf)]).take(np.zeros(rows, np.int64))


def concat(blocks: Sequence[Block], empty: Empty = np.empty) -> Block:
    """The rows of several blocks of one structure, in order, in one block."""
    if len(blocks) == 1:
        return blocks[0]
    columns = [
        concat_columns([block.columns[i] for block in blocks], empty) for i in range(len(blocks[0].columns))
    ]
    rows = sum(block.rows for block in blocks)
    numbers = None
    if all(block.numbers is not None for block in blocks):
        numbers = np.concatenate([block.numbers for block in blocks if block.numbers is not None])
    return Block(blocks[0].structure, columns, rows, numbers, origin_of(blocks))


def origin_of(blocks: Sequence[Block]) -> Origin | None:
    """Where the rows of several blocks came from, if that is known of any."""
    origins = [block.origin for block in blocks]
    known = next((origin for origin in origins if origin is not None), None)
    if known is None:
        return None
    return known.joined(origins, offsets_of(np.array([block.rows for block in blocks], np.int64)).tolist())


def concat_columns(columns: Sequence[Column], empty: Empty = np.empty) -> Column:
    """The rows of several columns, in order, in one column."""
    first = columns[0]
    if all(isinstance(column, DenseColumn) for column in columns):
        arrays = [column.array for column in columns if isinstance(column, DenseColumn)]
        shape, dtype = arrays[0].shape[1:], arrays[0].dtype
        if all(array.shape[1:] == shape and array.dtype == dtype for array in arrays):
            out = empty((sum(map(len, arrays)), *shape), dtype)
            np.concatenate(arrays, out=out)
            return DenseColumn(out)
    if isinstance(first, BytesColumn) and all(
        isinstance(column, BytesColumn) and column.text == first.text and column.shape == first.shape
        for column in columns
    ):
        parts = [column for column in columns if isinstance(column, BytesColumn)]
        values, offsets = _join_flat([(part.values, part.offsets) for part in parts])
        return BytesColumn(values, offsets, text=first.text, shape=first.shape)
    if _one_ragged(columns):
        ragged = [as_ragged(column) for column in columns]
        values, offsets = _join_flat([(part.values, part.offsets) for part in ragged])
        return RaggedColumn(values, offsets, np.concatenate([part.shapes for part in ragged]))
    return _of_objects(item for column in columns for item in column.items())


def _join_flat(
    parts: Sequence[tuple[NDArray[Any], NDArray[np.int64]]],
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    values = np.concatenate([flat[offsets[0] : offsets[-1]] for flat, offsets in parts])
    return values, offsets_of(np.concatenate([np.diff(offsets) for _, offsets in parts]))


def _one_ragged(columns: Sequence[Column]) -> bool:
    kinds = set()
    for column in columns:
        if isinstance(column, DenseColumn):
            kinds.add((column.array.dtype, column.array.ndim - 1))
        elif isinstance(column, RaggedColumn):
            kinds.add((column.values.dtype, column.shapes.shape[1]))
        else:
            return False
    return len(kinds) == 1


def as_ragged(column: Column) -> RaggedColumn:
    """A dense or ragged column as a ragged one."""
    if isinstance(column, RaggedColumn):
        return column
    assert isinstance(column, DenseColumn)
    rows, shape = column.rows, column.array.shape[1:]
    lengths = np.full(rows, int(np.prod(shape, dtype=np.int64)), np.int64)
    shapes = np.broadcast_to(np.array(shape, np.int64), (rows, len(shape)))
    return RaggedColumn(column.array.reshape(-1), offsets_of(lengths), shapes)
