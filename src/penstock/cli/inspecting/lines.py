"""The lines of a file with where they begin, and plain text."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.cli.inspecting.findings import FileFound, Finding
from penstock.cli.inspecting.looking import Looking, open_bytes, words
from penstock.cli.inspecting.recognise import Kind
from penstock.cli.inspecting.values import show
from penstock.errors import DataError
from penstock.io.stores.decompress import Stream

PIECE = 1 << 20
LONGEST = 64 << 20
"""A longer line is taken for damage: what has no line ends must not fill the memory."""


class Lines:
    """A file line by line, without their ends. What cannot be unpacked is noted, and ends it."""

    def __init__(self, stream: Stream, found: Finding) -> None:
        self._stream = stream
        self._found = found
        self.count = 0
        self.shortest, self.total, self.longest = 1 << 62, 0, 0
        self.whole = False
        """Whether the file was read to its end."""
        self.ended = True
        """Whether the last line has an end."""

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Where each line begins, and its bytes."""
        base, rest, piece = 0, b"", bytearray(PIECE)
        while True:
            count = self._read(piece)
            if not count:
                break
            lines = (rest + bytes(piece[:count])).split(b"\n")
            rest = lines.pop()
            for line in lines:
                self._count(line)
                yield base, line.removesuffix(b"\r")
                base += len(line) + 1
            if len(rest) > LONGEST:
                self._found.wrong(self._found.path, base, f"a line of more than {LONGEST >> 20} MiB")
                return
        self.whole = True
        if rest:
            self.ended = False
            self._count(rest)
            yield base, rest.removesuffix(b"\r")

    def _read(self, piece: bytearray) -> int:
        try:
            return self._stream.read_into(memoryview(piece))
        except DataError as error:
            what = f"{words(error)} (the offset is that in the packed file)"
            self._found.wrong(self._found.path, error.offset, what)
            return 0

    def _count(self, line: bytes) -> None:
        self.count += 1
        size = len(line)
        self.total += size
        self.shortest, self.longest = min(self.shortest, size), max(self.longest, size)

    def finish(self, size: int, records: int | None = None) -> None:
        """Tell the sizes."""
        found = self._found
        found.records = self.count if records is None else records
        found.whole = found.whole and self.whole
        if self.count:
            found.record_bytes = (self.shortest, self.total / self.count, self.longest)
        found.files = [FileFound(found.path, size, found.records, found.damaged)]


def inspect(path: str, kind: Kind, looking: Looking) -> Finding:
    """What is in a text file: its lines, and whether they are UTF-8."""
    found = Finding(path, "text", unit="line", compression=kind.compression)
    stream = open_bytes(path, kind.compression, looking.progress)
    try:
        lines = Lines(stream, found)
        for number, (offset, line) in enumerate(lines):
            if len(found.samples) < looking.samples:
                found.samples.append({f"line {number + 1}": show(line.decode(errors="backslashreplace"))})
            if not line.isascii():
                _check(found, offset, line, number)
            if b"\0" in line:
                found.wrong(path, offset + line.index(b"\0"), f"a zero byte in line {number + 1}")
            if looking.records is not None and number + 1 >= looking.records:
                break
        lines.finish(stream.stored.size)
    finally:
        stream.close()
    if found.records and lines.whole and not lines.ended:
        found.details["last_line"] = "has no line end"
    return found


def _check(found: Finding, offset: int, line: bytes, number: int) -> None:
    try:
        line.decode()
    except UnicodeDecodeError as error:
        what = f"expected UTF-8 in line {number + 1}, got {line[error.start : error.end]!r}"
        found.wrong(found.path, offset + error.start, what)
