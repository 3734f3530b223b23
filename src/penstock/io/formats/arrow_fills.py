"""What takes the place of nulls in Arrow's arrays: the value that was said, or an error and never another.

Loads pyarrow: import this module only inside the function that needs it.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
from pyarrow import types as kinds

from penstock.io.formats.arrow_types import ColumnTypeError, dtype_of, is_list, is_tensor, plain_type


def check_fills(schema: Any, fill_nulls: Mapping[str, Any]) -> None:
    """`ColumnTypeError` where a column that is named cannot have the value, or is not there."""
    types = {path: arrow for field in schema for path, arrow in _types(field.type, field.name)}
    for path, value in fill_nulls.items():
        if path not in types:
            raise ColumnTypeError(f"expected fill_nulls to name columns of {list(types)}, got {path!r}")
        fill_of(value, types[path], path)


def fill_of(value: Any, arrow: Any, path: str) -> Any:
    """The value as a scalar of this type. `ColumnTypeError` where it would be another value then."""
    said = f"column {path!r} of the type {arrow} cannot be filled with {value!r}"
    try:
        fill = pa.scalar(value, arrow)
        same = fill.is_valid and _is_same(fill, value)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise ColumnTypeError(f"{said}: {error}") from error
    if not same:
        would = f"which would become {fill}" if fill.is_valid else "which is null itself"
        raise ColumnTypeError(f"{said}, {would}. Give a value of that type")
    return fill


def _types(arrow: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The type of each array that a column is made of, by the path under which it can be filled."""
    arrow = plain_type(arrow)
    yield path, arrow
    if is_tensor(arrow):
        return
    if kinds.is_map(arrow):
        parts = [("key", arrow.key_type), ("value", arrow.item_type)]
    elif is_list(arrow):
        parts = [("item", arrow.value_type)]
    elif kinds.is_struct(arrow):
        parts = [(field.name, field.type) for field in arrow]
    else:
        return
    for name, part in parts:
        yield from _types(part, f"{path}.{name}")


def _is_same(fill: Any, value: Any) -> bool:
    """Whether nothing of a value was lost; that a float is rounded to a shorter one is no loss."""
    arrow = fill.type
    if not fill.is_valid or value is None:
        return not fill.is_valid and value is None
    if kinds.is_map(arrow):
        pairs = value.items() if isinstance(value, Mapping) else value
        entries = [(entry["key"], entry["value"]) for entry in fill.values]
        return all(all(map(_is_same, *both)) for both in zip(entries, pairs, strict=True))
    if is_list(arrow):
        return len(fill) == len(value) and all(map(_is_same, fill, value))
    if kinds.is_struct(arrow):
        given = dict(value)
        return all(name in fill and _is_same(fill[name], item) for name, item in given.items())
    if kinds.is_integer(arrow):
        return bool(fill.as_py() == value)
    if kinds.is_floating(arrow):
        return math.isfinite(fill.as_py()) or not math.isfinite(value)
    if kinds.is_temporal(arrow):
        return _is_same_time(fill, value)
    return True


def _is_same_time(fill: Any, value: Any) -> bool:
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.int64(fill.value).view(dtype_of(fill.type, "")) == value)
    if isinstance(value, datetime.date):
        return _moment(fill.as_py()) == _moment(value)
    if isinstance(value, datetime.time | datetime.timedelta):
        return bool(fill.as_py() == value)
    return bool(fill.value == value)  # a number, of the units of the column


def _moment(time: datetime.date) -> datetime.datetime:
    """A day or a time as one in UTC, which it is in Arrow where it has no zone."""
    if not isinstance(time, datetime.datetime):
        time = datetime.datetime.combine(time, datetime.time())
    return time if time.tzinfo is not None else time.replace(tzinfo=datetime.UTC)
