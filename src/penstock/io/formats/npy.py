"""NumPy's own files: the arrays of `.npy` and `.npz` files where they lie, without reading them."""

from __future__ import annotations

import ast
import math
import struct
import zipfile
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib import format as npy_format

from penstock.io.formats.stored_source import StoredSource
from penstock.io.stores.stored import Stored

MAGIC = b"\x93NUMPY"
ZIP = b"PK\x03\x04"
EMPTY_ZIP = b"PK\x05\x06"
LONGEST = 256 << 10
"""More than any header has; a longer one is damage."""


class FormatError(ValueError):
    """A file that is not what it should be: what is wrong, and at which byte."""

    def __init__(self, what: str, offset: int) -> None:
        super().__init__(what)
        self.offset = offset


@dataclass(frozen=True)
class Lying:
    """Where an array lies in a file, or where the member of an archive does that unpacks to it."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool
    offset: int
    """Of the first item: in the file, or in what the member unpacks to."""
    packed: bool = False

    @property
    def nbytes(self) -> int:
        """The bytes of all items."""
        return math.prod(self.shape) * self.dtype.itemsize


def header_of(data: bytes, name: str, start: int = 0) -> Lying:
    """What the header says with which a `.npy` file begins; `data` is its first bytes, from `start` on."""
    if data[:6] != MAGIC or len(data) < 12:
        raise FormatError(f"expected a NumPy array, got {data[:8]!r}", start)
    wide = data[6] > 1  # the version decides how long the length is
    size = struct.unpack_from("<I" if wide else "<H", data, 8)[0]
    first = 12 if wide else 10
    if data[6] not in (1, 2, 3) or size > LONGEST:
        raise FormatError(f"expected a header of version 1 to 3, got {data[:12]!r}", start)
    if len(data) < first + size:
        raise FormatError("the file is cut off within its header", start + len(data))
    try:
        said = ast.literal_eval(data[first : first + size].decode("utf-8" if data[6] == 3 else "latin1"))
        dtype = npy_format.descr_to_dtype(said["descr"])
        shape = tuple(int(one) for one in said["shape"])
        fortran = bool(said["fortran_order"]) and len(shape) > 1
    except (ValueError, SyntaxError, KeyError, TypeError) as error:
        raise FormatError(f"expected the header of an array, got a damaged one ({error})", start) from None
    if dtype.hasobject:
        raise FormatError(
            f"expected numbers or strings, got pickled objects ({dtype}), which could run any code when "
            f"they are opened. Save an array of numbers or strings",
            start,
        )
    if min(shape, default=0) < 0:
        raise FormatError(f"expected an array, got the shape {shape}", start)
    return Lying(name, dtype, shape, fortran, start + first + size)


def arrays_in(stored: Stored, chosen: tuple[str, ...] | None = None) -> list[Lying]:
    """The arrays of a file: the one of an `.npy` file, without a name, or those of an `.npz` file.

    Of an `.npz` file those that were `chosen`, in their order; the others are not looked at.
    """
    data = stored.read(0, 12)
    if data[:4] in (ZIP, EMPTY_ZIP):
        return _members_of(stored, chosen)
    if chosen is not None and data[:6] == MAGIC:
        raise FormatError(
            f"expected an archive with the arrays {list(chosen)}, got a single array without a name. "
            f"Leave arrays=[...] out",
            0,
        )
    found = header_of(stored.read(0, LONGEST), "")
    _check_size(found, stored.size)
    return [found]


def _check_size(found: Lying, end: int) -> None:
    if found.offset + found.nbytes > end:
        raise FormatError(
            f"expected {found.nbytes} bytes for an array of {found.dtype}{list(found.shape)}, "
            f"but the file is cut off",
            end,
        )


def _members_of(stored: Stored, chosen: tuple[str, ...] | None) -> list[Lying]:
    try:
        archive = zipfile.ZipFile(StoredSource(stored))
    except zipfile.BadZipFile as error:
        raise FormatError(f"expected an archive of arrays, got one that is damaged ({error})", 0) from None
    members = {
        member.filename.removesuffix(".npy"): member
        for member in archive.infolist()
        if member.filename.endswith(".npy")
    }
    found = []
    for name in members if chosen is None else chosen:
        if name not in members:
            raise FormatError(f"expected the array {name!r}, got a file with {sorted(members)}", 0)
        member = members[name]
        if member.header_offset < 0:
            raise FormatError(f"expected the member {member.filename!r}, got one before the file begins", 0)
        if member.compress_type != zipfile.ZIP_STORED:
            try:
                with archive.open(member) as file:
                    start_of = file.read(1 << 16)
            except (zipfile.BadZipFile, NotImplementedError, EOFError, zlib.error) as error:
                raise FormatError(
                    f"expected the packed member {member.filename!r}, got one that is damaged ({error})",
                    member.header_offset,
                ) from None
            one = header_of(start_of, name)
            found.append(Lying(name, one.dtype, one.shape, one.fortran, one.offset, packed=True))
            continue
        # The sizes before a member's data may differ from those in the list at the end of the archive.
        local = stored.read(member.header_offset, 30)
        if local[:4] != ZIP:
            raise FormatError(f"expected the member {member.filename!r}", member.header_offset)
        start = member.header_offset + 30 + sum(struct.unpack_from("<HH", local, 26))
        one = header_of(stored.read(start, min(member.file_size, LONGEST)), name, start)
        _check_size(one, start + member.file_size)
        found.append(one)
    return found
