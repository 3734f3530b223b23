"""Text files as blocks of lines."""

from __future__ import annotations

import numpy as np

from penstock.blocks.block import Block
from penstock.blocks.columns import BytesColumn, Index
from penstock.blocks.origin import Listed, Origin, Spaced
from penstock.blocks.structure import LEAF
from penstock.errors import DataError
from penstock.io.formats.pieces import Bytes, PiecewiseReader

NEWLINE, RETURN = 10, 13


class TextLineReader(PiecewiseReader):
    r"""The lines of a file, as `bytes` without the `\n` or `\r\n` at their end."""

    longest = "line"

    def parse(self, data: Bytes, last: bool) -> tuple[int, list[Block | DataError]]:
        values, offsets, used = lines_of(data, last)
        rows = len(offsets) - 1
        if not rows:
            return 0, []
        column = BytesColumn(values, offsets, text=False)
        return used, [Block(LEAF, [column], rows, origin=self._origin(data, offsets, used))]

    def _origin(self, data: Bytes, offsets: Index, used: int) -> Origin:
        """Where the lines begin; their ends are alike as a rule."""
        ended = len(offsets) - (1 if data[used - 1] == NEWLINE else 2)
        gap, others = divmod(used - int(offsets[-1]), max(ended, 1))
        if not others:
            return Spaced(self.path, self.base, offsets, gap, self.unpacked)
        ends = np.flatnonzero(data[: used - 1] == NEWLINE)
        return Listed([self.path], None, np.concatenate([[0], ends + 1]) + self.base, self.unpacked)


def lines_of(data: Bytes, last: bool) -> tuple[Bytes, Index, int]:
    r"""The complete lines in `data`, end to end without their ends; their offsets; the bytes they took.

    With `last`, what follows the last `\n` is a line too.
    """
    ends = np.flatnonzero(data == NEWLINE)
    if last and (not len(ends) or ends[-1] + 1 < len(data)):
        ends = np.append(ends, len(data))  # a line whose end is missing
    if not len(ends):
        return data[:0], np.zeros(1, np.int64), 0
    used = min(int(ends[-1]) + 1, len(data))
    returns = data[np.maximum(ends, 1) - 1] == RETURN
    if ends[-1] == len(data):
        returns[-1] = False  # only before an end
    offsets = np.zeros(len(ends) + 1, np.int64)
    offsets[1:] = ends - np.arange(len(ends))
    offsets[1:] -= np.cumsum(returns)
    keep = np.ones(used, bool)
    keep[ends[ends < used]] = False
    keep[ends[returns] - 1] = False
    return data[:used][keep], offsets, used
