"""Tar archives, read from the first byte to the last: ustar, pax, and GNU's long names and sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.io.stores.decompress import Stream

BLOCK = 512
AHEAD = 128 << 10
"""So many bytes are read at a time; what is larger is read straight to its place."""
LONGEST = 1 << 20
"""More than any name or list of attributes has; a longer one is damage."""
DIGITS = 20
"""More than any number has."""
FILES = b"0\x007"
"""The kinds of members that are files."""
OTHERS = {b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x04\x22\x4d\x18": "lz4"}
"""How archives begin that are packed with what is not unpacked here."""


class TarError(ValueError):
    """An archive that is damaged or cut off: what is wrong, and at which byte of what it unpacks to."""

    def __init__(self, what: str, offset: int) -> None:
        super().__init__(what)
        self.offset = offset


@dataclass(frozen=True)
class Member:
    """A member of an archive; its data comes next."""

    name: str
    size: int
    offset: int
    """Of its header."""
    is_file: bool


class Tar:
    """The members of an archive, one after another."""

    def __init__(self, stream: Stream) -> None:
        self._bytes = Ahead(stream)
        self._size = stream.stored.size if stream.seekable else None
        self._left = 0
        """What is still to come of the present member, and of what fills up its last block."""

    def next(self) -> Member | None:
        """The next member; None at the end of the archive."""
        self._bytes.skip(self._left)
        self._left = 0
        said: dict[str, str] = {}
        while True:
            offset = self._bytes.at
            header = self._bytes.read(BLOCK)
            if header == bytes(BLOCK):
                return None
            for begins, packing in OTHERS.items() if offset == 0 else ():
                if header.startswith(begins):
                    raise TarError(f"expected an archive, got one packed with {packing}. Use gzip or zstd", 0)
            if len(header) < BLOCK:
                what = "within a header" if header else "where a header or the mark of its end should be"
                raise TarError(f"the archive is cut off {what}", offset)
            kind, size = _checked(header, offset)
            if kind in b"xLK":
                self._attributes(kind, size, said, offset)
            elif kind == ord("g"):
                self._bytes.skip(_filled(size))
            else:
                break
        if "size" in said:
            if not said["size"].isdecimal() or len(said["size"]) > DIGITS:
                raise TarError(f"expected the size of a member, got {said['size'][:DIGITS]!r}", offset)
            size = int(said["size"])
        if kind == ord("S") or any(key.startswith("GNU.sparse") for key in said):
            raise TarError("the member is a sparse file, which cannot be read here", offset)
        self._left = _filled(size)
        name = said.get("path") or _name_in(header)
        return Member(name, size, offset, kind in FILES and not name.endswith("/"))

    def finish(self) -> None:
        """Look at what follows the mark of the end, which should be nothing: it would be lost."""
        while piece := self._bytes.read(AHEAD - 1):
            if rest := piece.lstrip(b"\0"):
                raise TarError(
                    "the archive goes on after the mark of its end: zeros were written over a header, or "
                    "several archives are in one file (join them with tar --concatenate)",
                    self._bytes.at - len(rest),
                )

    def check(self, member: Member) -> None:
        """Whether an archive that is not packed has all of the member that came last."""
        if self._size is not None and self._bytes.at + member.size > self._size:
            raise self._cut_off(member, self._size - self._bytes.at, self._size)

    def data(self, member: Member) -> bytes:
        """The bytes of the member that came last."""
        data = self._bytes.read(member.size)
        if len(data) < member.size:
            raise self._cut_off(member, len(data), self._bytes.at)
        self._left = _filled(member.size) - member.size
        return data

    def _cut_off(self, member: Member, done: int, end: int) -> TarError:
        return TarError(
            f"the archive is cut off within {member.name!r}, after {max(done, 0)} of {member.size} bytes", end
        )

    def _attributes(self, kind: int, size: int, said: dict[str, str], offset: int) -> None:
        """Read what a member says of the one after it: a name that is too long for a header, and such."""
        if size > LONGEST:
            raise TarError(f"expected a name, got {size} bytes", offset)
        data = self._bytes.read(size)
        self._bytes.skip(_filled(size) - size)
        if kind == ord("L"):
            said["path"] = data.rstrip(b"\0").decode("utf-8", "surrogateescape")
        elif kind == ord("x"):
            said.update(_records_of(data, offset))


def _filled(size: int) -> int:
    """The bytes of whole blocks that hold so many."""
    return -(-size // BLOCK) * BLOCK


def _checked(header: bytes, offset: int) -> tuple[int, int]:
    """A header's kind and size, if its checksum is right."""
    try:
        said = _number(header[148:156])
        size = _number(header[124:136])
    except ValueError:
        raise TarError(f"expected the header of a member, got {header[:20]!r}...", offset) from None
    if sum(header) - sum(header[148:156]) + 8 * 32 != said:
        raise TarError("the header of a member is damaged: its checksum is wrong", offset)
    return header[156], size


def _number(field: bytes) -> int:
    if field[0] == 0x80:  # too large for digits
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b" \0")
    return int(digits, 8) if digits else 0


def _name_in(header: bytes) -> str:
    name = header[:100].split(b"\0", 1)[0]
    if header[257:263] == b"ustar\0":
        folder = header[345:500].split(b"\0", 1)[0]
        name = folder + b"/" + name if folder else name
    return name.decode("utf-8", "surrogateescape")


def _records_of(data: bytes, offset: int) -> dict[str, str]:
    """The attributes of pax: lines that begin with their own length."""
    found = {}
    while data and data[0]:
        length, _, rest = data.partition(b" ")
        size = int(length) if length.isdigit() and len(length) <= DIGITS else 0
        key, equals, value = rest[: size - len(length) - 2].partition(b"=")
        if not equals or data[size - 1 : size] != b"\n":
            raise TarError(f"expected the attributes of a member, got {data[:20]!r}...", offset)
        found[key.decode("utf-8", "replace")] = value.decode("utf-8", "surrogateescape")
        data = data[size:]
    return found


class Ahead:
    """A stream that is read in pieces of some size, whatever is asked for."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._piece: Any = memoryview(b"")
        self.at = 0

    def read(self, size: int) -> bytes:
        """So many bytes; fewer only at the end."""
        if size > len(self._piece) and size < AHEAD:
            self._fill()
        have = self._piece[:size]
        self._piece = self._piece[len(have) :]
        if len(have) == size or size < AHEAD:
            self.at += len(have)
            return bytes(have)
        out = bytearray(size)
        out[: len(have)] = have
        count = len(have) + self._stream.read_into(memoryview(out)[len(have) :])
        self.at += count
        return bytes(out) if count == size else bytes(out[:count])

    def skip(self, size: int) -> None:
        """Pass over so many bytes, or those that there are."""
        while size > 0:
            if not self._piece:
                self._fill()
                if not self._piece:
                    return
            some = min(size, len(self._piece))
            self._piece = self._piece[some:]
            self.at += some
            size -= some

    def _fill(self) -> None:
        rest = len(self._piece)
        piece = bytearray(rest + AHEAD)
        piece[:rest] = self._piece
        count = self._stream.read_into(memoryview(piece)[rest:])
        self._piece = memoryview(piece)[: rest + count]
