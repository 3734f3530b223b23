"""Arrow's arrays as columns, without a Python object a row, and without a copy where it can be.

Numbers, times and fixed-size lists become dense columns, strings and binary become bytes columns, lists
become ragged ones. Structs become dicts, lists of structs and maps become dicts of lists. Times become
datetime64 (of UTC where they have a zone), decimals become float64, dictionaries are decoded.

Loads pyarrow: import this module only inside the function that needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.compute as pc  # type: ignore[import-untyped, unused-ignore]
from numpy.typing import NDArray
from pyarrow import types as kinds

from penstock.blocks.block import Block
from penstock.blocks.columns import BytesColumn, Column, DenseColumn
from penstock.blocks.spec import Spec
from penstock.io.formats.arrow_fills import check_fills, fill_of
from penstock.io.formats.arrow_lists import RowsError, in_fixed_lists, in_lists
from penstock.io.formats.arrow_types import (
    ColumnTypeError,
    dtype_of,
    is_binary,
    is_list,
    is_tensor,
    is_text,
    spec_of,
)

__all__ = ["ColumnTypeError", "RowsError", "block_of", "check_fills", "spec_of"]

NO_FILL: Mapping[str, Any] = {}


def block_of(
    batch: Any,
    spec: Spec | None = None,
    *,
    fill_nulls: Mapping[str, Any] = NO_FILL,
    own: bool = True,
    copy: Callable[[Column], Column] | None = None,
) -> Block:
    """The rows of a record batch; at least one. `spec` is the one of its schema, where it is at hand.

    `fill_nulls` has the value that takes the place of nulls, by column (`"a"`, `"a.b"` in a struct,
    `"a.item"` in a list); `RowsError` where others are null. Without `own`, somebody else may have
    the batch as well, and numbers are read-only. `copy` is made of each column before the next one is
    looked at.
    """
    structure = (spec or spec_of(batch.schema)).structure
    conversion = _Conversion(fill_nulls, own)
    columns: list[Column] = []
    for name, array in zip(batch.schema.names, batch.columns, strict=True):
        made = conversion.columns(array, name)
        columns += made if copy is None else map(copy, made)
    return Block(structure, columns, batch.num_rows)


class _Conversion:
    """One array after another, each to the columns of its leaves."""

    def __init__(self, fill_nulls: Mapping[str, Any], own: bool) -> None:
        self._fill = fill_nulls
        self._own = own

    def columns(self, array: Any, path: str) -> list[Column]:
        """The columns of an array's leaves: several for structs."""
        array = _decoded(array)
        if array.null_count:
            array = self._filled(array, path)
        arrow = array.type
        if is_tensor(arrow):
            return [self._tensors(array, path)]
        if kinds.is_struct(arrow):
            parts = zip(arrow, array.flatten(), strict=True)
            return [leaf for field, part in parts for leaf in self.columns(part, f"{path}.{field.name}")]
        if kinds.is_fixed_size_list(arrow):
            return self._fixed_lists(array, path)
        if is_list(arrow) or kinds.is_map(arrow):
            return self._lists(array, path)
        if is_text(arrow) or is_binary(arrow):
            return [self._strings(array, path)]
        return [DenseColumn(self._numbers(array, path))]

    def _filled(self, array: Any, path: str) -> Any:
        if path not in self._fill:
            nan = "float('nan')" if kinds.is_floating(array.type) else "..."
            what = f"column {path!r} is null. Say what to put there: fill_nulls={{{path!r}: {nan}}}"
            raise RowsError(what, np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False)))
        fill = fill_of(self._fill[path], array.type, path)
        try:
            return pc.coalesce(array, fill)
        except pa.ArrowException as error:
            raise ColumnTypeError(
                f"column {path!r} of the type {array.type} cannot be filled: {error}"
            ) from error

    def _numbers(self, array: Any, path: str) -> NDArray[Any]:
        """The values of an array of single values of one size; a view of Arrow's memory if it can be."""
        dtype = dtype_of(array.type, path)
        if not len(array):
            return np.empty(0, dtype)
        if kinds.is_boolean(array.type):
            return self._mine(array.to_numpy(zero_copy_only=False))
        if kinds.is_decimal(array.type):
            array = array.cast(pa.float64())
        width = array.type.bit_width // 8
        flat = np.frombuffer(array.buffers()[1], f"V{width}", len(array), array.offset * width)
        if dtype.kind in "mM" and width == 4:
            return self._mine(flat.view(np.int32).astype(np.int64).view(dtype))
        return self._mine(flat.view(dtype))

    def _mine(self, array: NDArray[Any]) -> NDArray[Any]:
        if not self._own:
            array.flags.writeable = False
        return array

    def _strings(self, array: Any, path: str) -> BytesColumn:
        text = is_text(array.type)
        if kinds.is_fixed_size_binary(array.type):
            width = array.type.byte_width
            offsets = np.arange(len(array) + 1, dtype=np.int64) * width
            values = _bytes_in(array.buffers()[1], array.offset * width, len(array) * width)
            return BytesColumn(values, offsets, text=False)
        if kinds.is_string_view(array.type) or kinds.is_binary_view(array.type):
            array = array.cast(pa.large_string() if text else pa.large_binary())
        if not len(array):
            return BytesColumn(np.empty(0, np.uint8), np.zeros(1, np.int64), text=text)
        _, places, values = array.buffers()
        large = kinds.is_large_string(array.type) or kinds.is_large_binary(array.type)
        narrow = np.dtype(np.int64 if large else np.int32)
        offsets = np.frombuffer(places, narrow, len(array) + 1, array.offset * narrow.itemsize)
        offsets = offsets.astype(np.int64, copy=False)
        first, last = int(offsets[0]), int(offsets[-1])
        if first < 0 or last > (0 if values is None else values.size) or (np.diff(offsets) < 0).any():
            raise pa.ArrowInvalid(f"column {path!r} has offsets that lead out of its values")
        # No more of the buffer than these rows: a slice does not count for the whole.
        column = BytesColumn(_bytes_in(values, first, last - first), offsets - first, text=text)
        if text:
            _check_text(array, column, path)
        return column

    def _tensors(self, array: Any, path: str) -> DenseColumn:
        arrow, flat = array.type, self._numbers(array.storage.flatten(), path)
        stored = flat.reshape(len(array), *arrow.shape)
        order = arrow.permutation or range(len(arrow.shape))
        return DenseColumn(stored.transpose(0, *(axis + 1 for axis in order)))

    def _fixed_lists(self, array: Any, path: str) -> list[Column]:
        size, rows = array.type.list_size, len(array)
        try:
            leaves = self.columns(array.flatten(), f"{path}.item")
        except RowsError as error:  # its rows are those of the items
            raise RowsError(error.what, np.unique(error.rows // size)) from None
        return [in_fixed_lists(leaf, size, rows, path) for leaf in leaves]

    def _lists(self, array: Any, path: str) -> list[Column]:
        if kinds.is_list_view(array.type) or kinds.is_large_list_view(array.type):
            array = array.cast(pa.large_list(array.type.value_type))
        array.validate(full=True)  # offsets that lie must not lead out of their buffer
        offsets = array.offsets.to_numpy().astype(np.int64)
        first, count = int(offsets[0]), int(offsets[-1] - offsets[0])
        offsets -= first
        try:
            if kinds.is_map(array.type):
                leaves = self.columns(array.keys.slice(first, count), f"{path}.key")
                leaves += self.columns(array.items.slice(first, count), f"{path}.value")
            else:
                leaves = self.columns(array.values.slice(first, count), f"{path}.item")
        except RowsError as error:  # its rows are those of the items
            lists = np.searchsorted(offsets, error.rows, "right") - 1
            raise RowsError(error.what, np.unique(lists)) from None
        return [in_lists(leaf, offsets, path) for leaf in leaves]


def _decoded(array: Any) -> Any:
    """An array with its values in it, and not the numbers or lengths that stand for them."""
    if kinds.is_dictionary(array.type):
        return _decoded(array.dictionary_decode())
    if kinds.is_run_end_encoded(array.type):
        return _decoded(pc.run_end_decode(array))
    if isinstance(array.type, pa.BaseExtensionType) and not is_tensor(array.type):
        return _decoded(array.storage)
    return array


def _bytes_in(buffer: Any, first: int, count: int) -> NDArray[np.uint8]:
    if buffer is None or not count:
        return np.empty(0, np.uint8)
    return np.frombuffer(buffer, np.uint8, count, first)


def _check_text(array: Any, column: BytesColumn, path: str) -> None:
    """Text that is no UTF-8 is found here, and not where it is first looked at."""
    try:
        array.validate(full=True)
    except pa.ArrowInvalid as error:
        strings = BytesColumn(column.values, column.offsets, text=False).strings()
        bad = [i for i, value in enumerate(strings) if not _is_utf8(value)]
        if not bad:
            raise
        what = f"column {path!r} is no UTF-8: {error}. Write it as binary, which is read as bytes"
        raise RowsError(what, np.array(bad, np.int64)) from None


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True
