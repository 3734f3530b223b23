"""`serialize_example`: from columns to tf.train.Examples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.build import as_leaf, as_ragged, column_of, repeated
from penstock.blocks.columns import BytesColumn, Column, DenseColumn, ObjectColumn, RaggedColumn
from penstock.blocks.ragged import Ragged
from penstock.blocks.rows import Rows
from penstock.blocks.trace import Opaque, StandIn, Trace, trusted
from penstock.errors import ArgumentTypeError, DataError
from penstock.io.examples.found import Index, Raw
from penstock.kernels.spans import Empty, offsets_of

NONE = np.zeros(0, np.int64)
NOTHING = np.zeros(0, np.uint8)


@dataclass(frozen=True)
class _Values:
    """One feature of every record: its kind on the wire, and its items as the kernels take them."""

    kind: int
    items: Index
    raw: Raw
    begins: Index
    bounds: Index
    absent: NDArray[np.bool_]


@trusted
def serialize_example(features: Mapping[str, Any]) -> bytes:
    """Serialize a dict as a `tf.train.Example`.

    Whole numbers and bools become an int64 list, floats a float list (of float32), bytes and text a
    bytes list, arrays of any shape the list of their items. None and [] are a feature without values. Keys
    are written in order, so that equal dicts give equal bytes. A number that its list has no room for, as
    1e300 in a float list, is an error. In a `map` all elements of a block are serialized at once.

    >>> import penstock as ps
    >>> ps.io.serialize_example({"x": 3})
    b'\\n\\x0c\\n\\n\\n\\x01x\\x12\\x05\\x1a\\x03\\n\\x01\\x03'
    """
    call = "ps.io.serialize_example"
    if not isinstance(features, Mapping) or not all(isinstance(name, str) for name in features):
        raise ArgumentTypeError(f"{call}(features=): expected a dict from names to values, got {features!r}.")
    stand_ins = [value for value in features.values() if isinstance(value, StandIn)]
    if stand_ins:
        return _over_block(features, stand_ins[0]._trace)  # type: ignore[return-value]
    columns = {name: column_of([_leaf(value, name)]) for name, value in features.items()}
    made = serialize(columns, 1, np.empty)
    return made.values.tobytes()


def _leaf(value: Any, name: str) -> Any:
    if isinstance(value, list | tuple):
        value = list(value) or None  # no values at all are of no kind either
    try:
        return as_leaf(value)
    except TypeError as error:
        raise DataError(f"ps.io.serialize_example: feature {name!r} has {error}.") from None


def _over_block(features: Mapping[str, Any], trace: Trace) -> Opaque:
    columns: dict[str, Column] = {}
    try:
        for name, value in features.items():
            if isinstance(value, Rows):
                columns[name] = DenseColumn(value._array)
            elif isinstance(value, Opaque):
                if value._spec is not None and not isinstance(value._column, BytesColumn):
                    trace.refuse("serializes something whose shape is not known")
                columns[name] = value._column
            else:
                columns[name] = repeated(_leaf(value, name), trace.rows)
        trace.may_raise = True
        made = serialize(columns, trace.rows, trace.empty)
    except BaseException as error:
        trace.raised(error)
        raise
    trace.largest = max(trace.largest, made.nbytes)
    return Opaque(made, trace, made.spec() if _is_trial(features) else None)


def _is_trial(features: Mapping[str, Any]) -> bool:
    """Whether this is a trial."""
    return any(isinstance(value, Opaque) and value._spec is not None for value in features.values())


def serialize(columns: Mapping[str, Column], rows: int, empty: Empty) -> BytesColumn:
    """One Example a row; `DataError` where a leaf is neither numbers nor strings."""
    from penstock.kernels.compiled import example_write as kernels

    keyed = sorted((name.encode(errors="surrogatepass"), name) for name in columns)
    bodies = np.zeros(rows, np.int64)
    parts = []
    for key, name in keyed:
        part = _values(columns[name], name)
        payloads, entries = np.empty(rows, np.int64), np.empty(rows, np.int64)
        kernels.measure(part.kind, part.items, part.bounds, part.absent, len(key), payloads, entries)
        bodies += entries
        parts.append((key, part, payloads, entries))
    sizes, places = np.empty(rows, np.int64), np.empty(rows, np.int64)
    kernels.whole_sizes(bodies, sizes)
    offsets = offsets_of(sizes)
    out = empty(int(offsets[-1]), np.dtype(np.uint8))
    kernels.write_heads(bodies, offsets, places, out)
    for key, part, payloads, entries in parts:
        raw_key = np.frombuffer(key, np.uint8)
        done = kernels.write(
            *(part.kind, part.items, part.raw, part.begins, part.bounds, part.absent),
            *(raw_key, payloads, entries, places, out),
        )
        if done < rows:
            raise DataError(
                f"ps.io.serialize_example: feature {key.decode(errors='surrogatepass')!r}: expected values "
                "that stay as they are while they are serialized, but they have changed."
            )
    return BytesColumn(out, offsets, text=False)


def _values(column: Column, name: str) -> _Values:
    absent = np.zeros(column.rows, np.bool_)
    if isinstance(column, ObjectColumn):
        return _of_objects(column, name)
    if isinstance(column, BytesColumn):
        width = column.width
        bounds = np.arange(column.rows + 1) * width
        begins = np.ascontiguousarray(column.offsets[:-1])
        lengths = np.diff(column.offsets)
        return _Values(1, lengths, column.values, begins, bounds, absent)
    assert isinstance(column, DenseColumn | RaggedColumn)
    ragged = as_ragged(column)
    first, last = int(ragged.offsets[0]), int(ragged.offsets[-1])
    flat, bounds = ragged.values[first:last], ragged.offsets - first
    if flat.dtype.kind in "biu":
        if flat.dtype == np.uint64 and (flat > np.uint64((1 << 63) - 1)).any():
            raise DataError(
                f"ps.io.serialize_example: feature {name!r}: expected whole numbers of 64 bits with a sign, "
                f"got {flat.max()}."
            )
        return _Values(3, np.ascontiguousarray(flat, np.int64), NOTHING, NONE, bounds, absent)
    if flat.dtype.kind == "f":
        with np.errstate(over="ignore"):  # looked for below
            single = np.ascontiguousarray(flat, np.float32)
        if flat.dtype.itemsize > 4:
            _check_range(flat, single, bounds, name)
        return _Values(2, NONE, single.view(np.uint8), NONE, bounds, absent)
    raise _unfit(name, str(flat.dtype))


def _check_range(flat: NDArray[Any], single: NDArray[np.float32], bounds: Index, name: str) -> None:
    """Refuse a number that float32 has no room for: it would be stored as infinite."""
    places = np.flatnonzero(np.isinf(single))
    places = places[np.isfinite(flat[places])]
    if not len(places):
        return
    item = int(places[0] - bounds[np.searchsorted(bounds, places[0], "right") - 1])
    raise DataError(
        f"ps.io.serialize_example: feature {name!r}: expected floats that float32 has room for, up to "
        f"3.4e38, got {flat[places[0]]!s} in item {item}. Scale or clip them first."
    )


def _of_objects(column: ObjectColumn, name: str) -> _Values:
    """Rows that are arrays of strings, `Ragged`s, or None."""
    rows = [_flat_row(item, name) for item in column.array]
    absent = np.array([row is None for row in rows], np.bool_)
    there = [row for row in rows if row is not None]
    bounds = offsets_of(np.array([0 if row is None else len(row) for row in rows], np.int64))
    kinds = {row.dtype.kind for row in there if len(row)}
    if kinds <= {"O"}:
        strings = [item for row in there for item in row]
        if not all(isinstance(item, bytes | str) for item in strings):
            odd = next(item for item in strings if not isinstance(item, bytes | str))
            raise _unfit(name, f"a {type(odd).__name__}")
        raw = [item.encode() if isinstance(item, str) else item for item in strings]
        lengths = np.array([len(item) for item in raw], np.int64)
        values = np.frombuffer(b"".join(raw), np.uint8)
        return _Values(1, lengths, values, offsets_of(lengths)[:-1], bounds, absent)
    if "O" in kinds or len({kind == "f" for kind in kinds}) > 1:
        raise _unfit(name, "values of several kinds")
    flat = _values(RaggedColumn(np.concatenate(there), bounds, np.diff(bounds)[:, None]), name)
    return _Values(flat.kind, flat.items, flat.raw, flat.begins, bounds, absent)


def _flat_row(item: Any, name: str) -> NDArray[Any] | None:
    if item is None:
        return None
    if isinstance(item, Ragged):
        return item.flat_values.ravel()
    if isinstance(item, np.ndarray | np.generic | bytes | str):
        if isinstance(item, bytes | str):
            item = np.array([item], object)
        return np.ravel(item).astype(object) if np.asarray(item).dtype.kind in "SU" else np.ravel(item)
    raise _unfit(name, f"a {type(item).__name__}")


def _unfit(name: str, came: str) -> DataError:
    return DataError(
        f"ps.io.serialize_example: feature {name!r}: expected whole numbers, floats, bytes or text, "
        f"got {came}."
    )
