"""Files of JSON, one value a line, as blocks."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from penstock.blocks.block import Block
from penstock.blocks.build import column_of
from penstock.blocks.columns import Column
from penstock.blocks.origin import Listed
from penstock.errors import DataError
from penstock.graph.running import Context
from penstock.io.formats.json_values import JsonShape
from penstock.io.formats.pieces import Bytes, PiecewiseReader
from penstock.io.formats.text import NEWLINE
from penstock.io.stores.decompress import Stream

BOM = b"\xef\xbb\xbf"
"""What some editors write at the beginning of UTF-8."""
LINES = 4096
"""The most lines that are parsed at a time."""
Cut = Callable[[int, int], list[Column]]
"""The columns of the rows from one number up to another."""


class JsonLinesReader(PiecewiseReader):
    """A line is one element; lines of nothing but spaces are passed over."""

    longest = "line"

    def __init__(self, stream: Stream, context: Context, buffer_size: int | None, shape: JsonShape) -> None:
        super().__init__(stream, context, buffer_size)
        self._shape = shape
        self._line = 0

    def parse(self, data: Bytes, last: bool) -> tuple[int, list[Block | DataError]]:
        ends = np.flatnonzero(data == NEWLINE)[:LINES] + 1
        if last and not len(ends):
            ends = np.array([len(data)])
        if not len(ends):
            return 0, []
        used = int(ends[-1])
        text = data[:used].tobytes()
        rows: list[tuple[list[Any] | ValueError, int, int]] = []
        for start, end in pairwise([0, *ends.tolist()]):
            self._line += 1
            line = text[start:end].strip()
            if line:
                rows.append((self._leaves(line), start, self._line))
        return used, self._found(rows)

    def _leaves(self, line: bytes) -> list[Any] | ValueError:
        try:
            return self._shape.leaves(_value(line))
        except ValueError as error:
            return error.with_traceback(None)

    def _found(self, rows: list[tuple[list[Any] | ValueError, int, int]]) -> list[Block | DataError]:
        """The elements in blocks, with an error for each line at fault in its place."""
        good = {i: leaves for i, (leaves, _, _) in enumerate(rows) if not isinstance(leaves, ValueError)}
        errors = {i: leaves for i, (leaves, _, _) in enumerate(rows) if isinstance(leaves, ValueError)}
        cut = self._at_once(good, errors) or self._one_by_one(good, errors)
        found: list[Block | DataError] = []
        made = first = 0
        for i in [*sorted(errors), len(rows)]:
            if i > first:
                starts = [start for _, start, _ in rows[first:i]]
                found.append(self._block(cut(made, made + i - first), starts))
                made += i - first
            if i < len(rows):
                _, start, line = rows[i]
                found.append(self.wrong(f"{errors[i]}.", self.base + start, line))
            first = i + 1
        return found

    def _at_once(self, good: dict[int, list[Any]], errors: dict[int, ValueError]) -> Cut | None:
        """Make all these rows together, but for those that cannot be; None where that does not do."""
        columns = self._shape.columns(list(good.values()))
        if columns is None:
            wrong = self._shape.errors(good)
            errors |= wrong
            columns = self._shape.columns([good[i] for i in good if i not in wrong]) if wrong else None
        if columns is None:
            return None
        return lambda start, stop: [column.slice(start, stop) for column in columns]

    def _one_by_one(self, good: dict[int, list[Any]], errors: dict[int, ValueError]) -> Cut:
        made = []
        for i, leaves in good.items():
            try:
                made.append(self._shape.row(leaves))
            except ValueError as error:
                errors[i] = error.with_traceback(None)
        return lambda start, stop: [column_of(leaves) for leaves in zip(*made[start:stop], strict=True)]

    def _block(self, columns: list[Column], starts: list[int]) -> Block:
        assert self._shape.structure is not None
        origin = Listed([self.path], None, np.array(starts) + self.base, self.unpacked)
        return Block(self._shape.structure, columns, len(starts), origin=origin)


def _value(line: bytes) -> Any:
    try:
        return json.loads(line.removeprefix(BOM).decode())
    except UnicodeDecodeError as error:
        raise ValueError(f"expected JSON in UTF-8, got {_short(line)}: {error}") from None
    except RecursionError:
        raise ValueError(f"expected JSON of a reasonable depth, got {_short(line)}") from None
    except ValueError as error:
        raise ValueError(f"expected JSON, got {_short(line)}: {error}") from None


def _short(line: bytes) -> str:
    return repr(line) if len(line) <= 60 else f"{line[:57]!r}..."
