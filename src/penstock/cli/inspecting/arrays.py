"""NumPy's files: the arrays, their dtypes, shapes and ranges, and whether all of them can be read."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.cli.inspecting.findings import Column, FileFound, Finding, wider
from penstock.cli.inspecting.looking import Looking, open_file
from penstock.cli.inspecting.recognise import Kind
from penstock.cli.inspecting.values import show
from penstock.io.formats.npy import FormatError, Lying, arrays_in, header_of
from penstock.io.formats.stored_source import StoredSource
from penstock.io.stores.stored import Stored

PIECE = 1 << 20
LONGEST = 4 << 10
"""So many bytes are read for a header."""
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError, struct.error)
"""What a damaged archive raises; `RuntimeError` where a member says that it is packed in an unknown way."""


def inspect(path: str, kind: Kind, looking: Looking) -> Finding:
    """What is in an `.npy` or `.npz` file."""
    found = Finding(path, "NumPy", unit="row", compression=kind.compression)
    stored = open_file(path, looking.progress)
    try:
        arrays = _arrays(found, stored)
        lengths = {one.shape[:1] for one in arrays}
        rows = next(iter(lengths))[0] if len(lengths) == 1 and () not in lengths else None
        for array in arrays:
            _look(found, stored, array, rows, looking)
        found.records = rows
        if rows is not None and looking.records is not None and looking.records < rows:
            found.records, found.whole = looking.records, False
        found.details["kind"] = "archive of arrays" if stored.read(0, 2) == b"PK" else "one array"
        found.details["data_bytes"] = sum(array.nbytes for array in arrays)
        found.files = [FileFound(path, stored.size, rows, found.damaged)]
    finally:
        stored.close()
    return found


def _arrays(found: Finding, stored: Stored) -> list[Lying]:
    """The arrays whose headers can be read; those of an archive as its members unpack."""
    try:
        if stored.read(0, 2) != b"PK":
            return arrays_in(stored)
        archive = zipfile.ZipFile(StoredSource(stored))
    except FormatError as error:
        found.wrong(found.path, error.offset, str(error))
        return []
    except zipfile.BadZipFile as error:
        found.wrong(found.path, stored.size, f"the list of members at the end cannot be read: {error}")
        return []
    arrays = []
    for member in archive.infolist():
        if not member.filename.endswith(".npy"):
            continue
        name = member.filename.removesuffix(".npy")
        try:
            with archive.open(member) as file:
                arrays.append(header_of(file.read(LONGEST), name))
        except DAMAGE as error:
            place = max(member.header_offset, 0)
            found.wrong(found.path, place, f"the array {name!r} cannot be read: {error}")
    return arrays


def _look(found: Finding, stored: Stored, array: Lying, rows: int | None, looking: Looking) -> None:
    column = Column(
        array.name or "(array)", str(array.dtype), shape=array.shape if rows is None else array.shape[1:]
    )
    found.columns.append(column)
    row_bytes = array.nbytes // max(array.shape[0], 1) if array.shape else array.nbytes
    size = array.nbytes
    if looking.records is not None and rows is not None and not array.fortran:
        size = min(size, looking.records * row_bytes)
    try:
        for number, items in enumerate(_items(stored, array, size)):
            _widen(column, items)
            if number == 0 and rows is not None and not array.fortran:
                _sample(found, column.name, array, items, looking.samples)
    except FormatError as error:
        found.wrong(found.path, error.offset, str(error))
    except DAMAGE as error:
        place = _member(stored, array)
        found.wrong(found.path, place, f"the array {column.name!r} cannot be read: {error}")


def _member(stored: Stored, array: Lying) -> int:
    """Where the member of an archive begins that an array is."""
    try:
        return max(zipfile.ZipFile(StoredSource(stored)).getinfo(f"{array.name}.npy").header_offset, 0)
    except (zipfile.BadZipFile, KeyError):
        return 0


def _items(stored: Stored, array: Lying, size: int) -> Iterator[Any]:
    """The items of an array, a piece at a time, in the order in which they lie."""
    if not array.dtype.itemsize or not size:
        return
    step = max(PIECE // array.dtype.itemsize, 1) * array.dtype.itemsize
    if stored.read(0, 2) != b"PK":
        for at in range(0, size, step):
            data = stored.read(array.offset + at, min(step, size - at))
            if len(data) < min(step, size - at):
                raise FormatError("the file is cut off", array.offset + at + len(data))
            yield np.frombuffer(data, array.dtype)
        return
    with zipfile.ZipFile(StoredSource(stored)) as archive, archive.open(f"{array.name}.npy") as member:
        member.read(array.offset)
        for at in range(0, size, step):
            yield np.frombuffer(member.read(min(step, size - at)), array.dtype)


def _widen(column: Column, items: Any) -> None:
    if items.dtype.kind in "iuf" and len(items):
        good = items[~np.isnan(items)] if items.dtype.kind == "f" else items
        if len(good) < len(items):
            column.looks_like = "has NaN"
        if len(good):
            column.range = wider(column.range, (good.min().item(), good.max().item()))
    elif items.dtype.kind == "b":
        column.range = wider(column.range, (bool(items.min()), bool(items.max())))


def _sample(found: Finding, name: str, array: Lying, items: Any, samples: int) -> None:
    width = max(int(np.prod(array.shape[1:], dtype=np.int64)), 1)
    for row in range(min(samples, len(items) // width)):
        if len(found.samples) <= row:
            found.samples.append({})
        value = items[row * width : (row + 1) * width].reshape(array.shape[1:])
        found.samples[row][name] = show(value if value.ndim else value.item())
