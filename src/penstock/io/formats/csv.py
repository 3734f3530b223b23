"""CSV files as blocks of tuples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.columns import BytesColumn, Column, DenseColumn
from penstock.blocks.origin import Listed
from penstock.blocks.spec import BYTES, TEXT, dtype_name
from penstock.blocks.structure import LEAF, tuple_of
from penstock.errors import DataError
from penstock.graph.running import Context
from penstock.io.formats.pieces import Bytes, PiecewiseReader
from penstock.io.stores.decompress import Stream
from penstock.kernels import csv as kernels
from penstock.kernels.csv import GOOD, INVALID, MISSING, Found

SHARE = 16
"""For so many bytes of a piece there is room for one field: the place of a field takes about as many."""
LEAST_ROWS = 8
ERRORS = 512
"""The most errors that are made at a time."""

TEXTS = (dtype_name(BYTES), dtype_name(TEXT))
BOM = b"\xef\xbb\xbf"
"""What spreadsheets write at the beginning of UTF-8: no part of the first field."""
ENDS = b"\r\n"
PACKED = {b"\x1f\x8b\x08": "GZIP", b"\x28\xb5\x2f\xfd": "ZSTD"}
"""How packed files begin, and no text does."""

WORDS = {
    kernels.PLAIN_QUOTE: "expected no quotes in a field without quotes around it, got one in field {}. Put "
    'the field in quotes and double the one inside, as in "a ""b"" c"',
    kernels.INNER_QUOTE: "expected a delimiter or the end of the line after the quote that closes a field, "
    'got something else in field {}. Double a quote inside a field, as in "a ""b"" c"',
    kernels.OPEN_QUOTE: "expected a quote that closes field {}, got the end of the file",
}


@dataclass(frozen=True)
class CsvColumn:
    """One of the columns that are read."""

    dtype: np.dtype[Any]
    default: Any = None
    """What stands in for an empty field; None if there has to be one."""


@dataclass(frozen=True)
class CsvForm:
    """How a file is written, and what is wanted of it."""

    columns: tuple[CsvColumn, ...]
    header: bool
    delimiter: bytes
    quotes: bool
    absent: bytes
    select: tuple[int, ...] | None
    exclude: tuple[int, ...] | None

    def places(self) -> tuple[NDArray[np.int64], int]:
        """The column of each field, and of those that follow."""
        if self.select is not None:
            places = np.full(self.select[-1] + 1, kernels.IGNORED, np.int64)
            places[list(self.select)] = np.arange(len(self.select))
            return places, kernels.IGNORED
        excluded = self.exclude or ()
        places = np.full(max(excluded, default=-1) + 1, kernels.COUNTED, np.int64)
        places[list(excluded)] = kernels.IGNORED
        return places, kernels.COUNTED

    def takes_blank(self) -> bool:
        """Whether a line with nothing in it is a record: of one column, which has a default."""
        places, beyond = self.places()
        first = places[0] if len(places) else beyond
        return len(self.columns) == 1 and first != kernels.IGNORED and self.columns[0].default is not None


class CsvReader(PiecewiseReader):
    """The records of a file; one that is at fault is an error, and the next one follows."""

    longest = "record (is a quote not closed?)"

    def __init__(self, stream: Stream, context: Context, buffer_size: int | None, form: CsvForm) -> None:
        super().__init__(stream, context, buffer_size)
        self._form = form
        self._structure = tuple_of([LEAF] * len(form.columns))
        self._places, self._beyond = form.places()
        self._absent = np.frombuffer(form.absent, np.uint8)
        self._blank_is_record = form.takes_blank()
        self._header = form.header
        self._line = 1
        rows = max(LEAST_ROWS, self.piece // (SHARE * len(form.columns)))
        self._found = Found(len(form.columns), rows, context.empty)

    def go_on(self) -> None:
        self._header = False

    def parse(self, data: Bytes, last: bool) -> tuple[int, list[Block | DataError]]:
        form, found = self._form, self._found
        if self.base == 0 and data[: len(BOM)].tobytes() == BOM:
            return len(BOM), []
        if self.base == 0 and not self.unpacked:
            for begins, packing in PACKED.items():
                if data[: len(begins)].tobytes() == begins:
                    self._header = False
                    self.give_up()
                    what = f"expected text, got a packed file. Say compression_type={packing!r}."
                    return len(data), [self.wrong(what, 0, 1)]
        if not self._blank_is_record:
            stop = self._blank_from(data)
            if stop == 0:
                return (len(data) if last else 0), []
            data = data[:stop]
        places = self._places, self._beyond
        rows, used = kernels.scan(data, last, form.delimiter[0], form.quotes, *places, found)
        first = 0
        if rows and self._header:
            # How many fields a header has is its own affair; a quote too many is an error as anywhere.
            self._header, first = False, int(int(found.status[0]) not in WORDS)
        status = found.status[first:rows]
        kept = np.arange(first, rows)[status == GOOD]
        # The states of the columns' fields, where records are good so far.
        states = np.zeros((len(form.columns), len(kept)), np.uint8)
        columns = [self._column(data, i, kept, states[i]) for i in range(len(form.columns))]
        sound = np.zeros(rows, bool)
        sound[kept] = ~states.any(axis=0)
        bad = np.flatnonzero(~sound[first:]) + first
        if len(bad) > ERRORS:
            bad = bad[:ERRORS]
            rows = int(bad[-1]) + 1
            used = int(found.bounds[rows])
        origin = Listed([self.path], None, self.base + found.bounds[kept], self.unpacked)
        block = Block(self._structure, columns, len(kept), origin=origin)
        return used, self._in_order(data, used, rows, first, bad, block, kept, states)

    def _blank_from(self, data: Bytes) -> int:
        """Where the lines begin, at the end of what is at hand, that have nothing in them.

        They wait for what follows: at the end of the file they are nothing, before a record they are errors.
        """
        if data[-2:].tobytes().strip(ENDS):
            return len(data)
        size = 64
        tail = data[-size:].tobytes()
        while not (kept := len(tail.rstrip(ENDS))) and size < len(data):
            size *= 2
            tail = data[-size:].tobytes()
        if not kept and not self._header:
            return 0
        return len(data) - len(tail) + kept + (2 if tail.startswith(ENDS, kept) else 1)

    def _in_order(
        self,
        data: Bytes,
        used: int,
        rows: int,
        first: int,
        bad: NDArray[np.int64],
        block: Block,
        kept: NDArray[np.int64],
        states: NDArray[np.uint8],
    ) -> list[Block | DataError]:
        """The good records in blocks, with an error for each of the others in its place."""
        out: list[Block | DataError] = []
        lines = self._lines_before(data, bad)
        for number, row in enumerate([*bad.tolist(), rows]):
            low, high = np.searchsorted(kept, (first, row))
            if low < high:
                out.append(block.slice(int(low), int(high)))
            if row < rows:
                field = states[:, high] if high < len(kept) and kept[high] == row else None
                out.append(self._wrong(data, row, lines[number], field))
            first = row + 1
        self._line += int(np.count_nonzero(data[:used] == kernels.NEWLINE))
        return out

    def _lines_before(self, data: Bytes, bad: NDArray[np.int64]) -> list[int]:
        """The line on which each record begins."""
        if not len(bad):
            return []
        ends = np.flatnonzero(data == kernels.NEWLINE)
        lines: list[int] = (self._line + np.searchsorted(ends, self._found.bounds[bad])).tolist()
        return lines

    def _column(self, data: Bytes, i: int, kept: NDArray[np.int64], state: NDArray[np.uint8]) -> Column:
        """One column of the records `kept`; `state` says where it has no value."""
        column, found = self._form.columns[i], self._found
        whole = len(kept) > 0 and kept[-1] - kept[0] + 1 == len(kept)
        rows = slice(int(kept[0]), int(kept[-1]) + 1) if whole else kept
        starts, ends = found.starts[i, rows], found.ends[i, rows]
        if column.dtype in (BYTES, TEXT):
            return self._strings(data, column, starts, ends, found.escaped[i, rows], state)
        if column.dtype.kind == "f":
            numbers: NDArray[Any] = np.empty(len(kept), np.float64)
            kernels.floats(data, starts, ends, self._absent, numbers, state)
        else:
            numbers = np.empty(len(kept), np.int64)
            limits = np.iinfo(column.dtype)
            kernels.integers(
                data, starts, ends, self._absent, int(limits.min), int(limits.max), numbers, state
            )
        missing = state == MISSING
        if missing.any():
            numbers[missing] = 0 if column.default is None else column.default
            if column.default is not None:
                state[missing] = GOOD
        with np.errstate(over="ignore"):
            return DenseColumn(numbers.astype(column.dtype, copy=False))

    def _strings(
        self,
        data: Bytes,
        column: CsvColumn,
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        escaped: NDArray[np.bool_],
        state: NDArray[np.uint8],
    ) -> BytesColumn:
        filling = np.frombuffer(column.default or b"", np.uint8)
        values, offsets = kernels.strings(data, starts, ends, escaped, self._absent, filling, state)
        if column.default is not None:
            state[state == MISSING] = GOOD
        text = column.dtype == TEXT
        if text and not _is_text(values, offsets):
            for row in range(len(starts)):
                if not _is_text(values, offsets[row : row + 2]):
                    state[row] = INVALID
        return BytesColumn(values, offsets, text=text)

    def _wrong(self, data: Bytes, row: int, line: int, states: NDArray[np.uint8] | None) -> DataError:
        found = self._found
        status, field = int(found.status[row]), int(found.where[row])
        if states is not None:
            at = int(np.flatnonzero(states)[0])
            raw = data[found.starts[at, row] : found.ends[at, row]].tobytes()
            kind = dtype_name(self._form.columns[at].dtype)
            if states[at] == MISSING:
                what = f"expected {kind} in column {at}, got {raw!r}. Give it a default if it may be missing"
            else:
                what = f"expected {kind} in column {at}, got {raw[:60]!r}"
                if line == 1 and not self._form.header and kind not in TEXTS:
                    what += ". If the first line is a header, say header=True"
        elif status == kernels.FEW:
            what = f"expected {self._fields()}, got {field}"
        elif status == kernels.MANY:
            what = f"expected {self._fields()}, got more"
        else:
            what = WORDS[status].format(field)
        return self.wrong(f"{what}.", self.base + int(found.bounds[row]), line)

    def _fields(self) -> str:
        width = len(self._form.columns)
        which = "fields" if self._form.select is None and self._form.exclude is None else "selected fields"
        return f"{width} {which}"

    def at_end(self) -> DataError | None:
        if not self._header:
            return None
        return self.wrong("expected a header, got an empty file.", 0, 1)


def _is_text(values: Bytes, offsets: NDArray[np.int64]) -> bool:
    """Whether each string is UTF-8: all of them together, and no character is cut between two."""
    try:
        values[offsets[0] : offsets[-1]].tobytes().decode()
    except UnicodeDecodeError:
        return False
    inner = offsets[1:-1]
    inner = inner[inner < offsets[-1]]
    return not ((values[inner] & 0xC0) == 0x80).any()
