"""Rows of Penstock's own files by their numbers, copied straight to their places."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.build import concat
from penstock.blocks.columns import BytesColumn, Column, DenseColumn, RaggedColumn
from penstock.blocks.structure import Structure
from penstock.io.formats.saved import BLOCK, BUFFERS, FIXED, ColumnLayout, Layout
from penstock.io.formats.saved_file import SavedFile
from penstock.io.formats.saved_kept import KeptBuffers
from penstock.kernels.spans import Empty, offsets_of, scatter_spans
from penstock.memory.mapped import Bytes

Index = NDArray[np.int64]
FILES = 256
"""The most files that rows are gathered from at a time."""
GAP = 4 << 10
"""Spans with no more than so many bytes between them are read at once."""
PIECE = 256 << 10
"""About the most that is read at once of several spans."""


@dataclass(frozen=True)
class Part:
    """Rows of one layout in one file, in the order in which they lie there."""

    file: SavedFile
    blocks: Index
    rows: Index
    places: Index
    """Where each of them goes."""

    def starts(self, buffer: int, step: int) -> Index:
        """Where each row's bytes begin in a buffer that has `step` bytes a row."""
        table = self.file.index.table
        begin: Index = table[self.blocks, 0] + BLOCK.size + table[self.blocks, FIXED + buffer]
        return begin + self.rows * step


class Gather:
    """Gathers rows of several files, which `opened` gives by number; `firsts` are their first rows.

    Pages of mapped files that were touched count as memory of the process. So files are mapped only where
    all of them may stay in memory (`resident`), and are read span by span where they may not.
    """

    def __init__(
        self,
        opened: Callable[[int], SavedFile],
        firsts: Index,
        structure: Structure,
        empty: Empty,
        kept: KeptBuffers,
        *,
        resident: bool,
    ) -> None:
        self._opened = opened
        self._firsts = firsts
        self._structure = structure
        self._empty = empty
        self._kept = kept
        self._resident = resident

    def gather(self, index: Index, most: int) -> Block:
        """The rows of these numbers from the first on, with about `most` bytes; at least one."""
        firsts = np.unique(np.searchsorted(self._firsts, index, "right"), return_index=True)[1]
        if len(firsts) > FILES:
            index = index[: np.sort(firsts)[FILES]]
        order = np.argsort(index, kind="stable")
        groups = self._parts(index[order], order)
        sizes = self._sizes(groups, len(index))
        fitting = int(np.searchsorted(np.cumsum(sizes), most, side="right"))
        if max(fitting, 1) < len(index):
            return self.gather(index[: max(fitting, 1)], most)
        blocks = [self._block(layout, parts) for layout, parts in groups.items()]
        if len(blocks) == 1:
            return blocks[0]
        # Rows of several layouts: each group was laid out by itself.
        came = np.concatenate([part.places for parts in groups.values() for part in _in_order(parts)])
        back = np.empty(len(index), np.int64)
        back[came] = np.arange(len(index))
        return concat(blocks, self._empty).take(back, self._empty)

    def _parts(self, index: Index, places: Index) -> dict[Layout, list[Part]]:
        groups: dict[Layout, list[Part]] = {}
        which = np.searchsorted(self._firsts, index, "right") - 1
        bounds = [0, *(np.flatnonzero(np.diff(which)) + 1).tolist(), len(index)]
        for first, last in pairwise(bounds):
            number = int(which[first])
            file = self._opened(number)
            local = index[first:last] - self._firsts[number]
            blocks = np.searchsorted(file.firsts, local, "right") - 1
            for one in np.unique(blocks).tolist():
                file.check(one)
            rows, kinds = local - file.firsts[blocks], file.index.table[blocks, 4]
            for kind in np.unique(kinds).tolist():
                mine = kinds == kind
                part = Part(file, blocks[mine], rows[mine], places[first:last][mine])
                groups.setdefault(file.index.layouts[kind], []).append(part)
        return groups

    def _sizes(self, groups: dict[Layout, list[Part]], count: int) -> Index:
        """The bytes of each row."""
        sizes = np.zeros(count, np.int64)
        for layout, parts in groups.items():
            for part in parts:
                at = 0
                for column in layout:
                    if column.kind == "dense":
                        sizes[part.places] += column.width * column.dtype.itemsize
                    else:
                        ends = self._ends(column, part, at)
                        item = 1 if column.kind == "bytes" else column.dtype.itemsize
                        sizes[part.places] += (ends[:, -1] - ends[:, 0]) * item + 8 * (ends.shape[1] - 1)
                    at += BUFFERS[column.kind]
        return sizes

    def _block(self, layout: Layout, parts: list[Part]) -> Block:
        """The rows of one layout, in the order of their places."""
        rows = sum(len(part.rows) for part in parts)
        rank = np.empty(rows, np.int64)
        rank[np.argsort(np.concatenate([part.places for part in parts]))] = np.arange(rows)
        bounds = offsets_of(np.array([len(part.rows) for part in parts]))
        ranked = [
            Part(part.file, part.blocks, part.rows, rank[bounds[i] : bounds[i + 1]])
            for i, part in enumerate(parts)
        ]
        columns: list[Column] = []
        at = 0
        for column in layout:
            columns.append(self._column(column, ranked, rows, at))
            at += BUFFERS[column.kind]
        return Block(self._structure, columns, rows)

    def _column(self, column: ColumnLayout, parts: list[Part], rows: int, at: int) -> Column:
        if column.kind == "dense":
            return DenseColumn(self._fixed(column.dtype, column.shape, parts, rows, at))
        ends = np.empty((rows, (column.width if column.kind == "bytes" else 1) + 1), np.int64)
        for part in parts:
            ends[part.places] = self._ends(column, part, at)
        item = np.dtype(np.uint8) if column.kind == "bytes" else column.dtype
        offsets = offsets_of(np.diff(ends, axis=1).reshape(-1))
        values = self._empty(int(offsets[-1]), item)
        lengths = (ends[:, -1] - ends[:, 0]) * item.itemsize
        goals = offsets[: -1 : ends.shape[1] - 1] * item.itemsize
        for part in parts:
            starts = part.starts(at, 0) + ends[part.places, 0] * item.itemsize
            self._copy(part.file, starts, lengths[part.places], _flat(values), goals[part.places])
        if column.kind == "bytes":
            shape: Any = column.shape
            return BytesColumn(values, offsets, text=column.text, shape=shape)
        return RaggedColumn(
            values, offsets, self._fixed(np.dtype(np.int64), (column.rank,), parts, rows, at + 2)
        )

    def _fixed(self, dtype: np.dtype[Any], shape: Any, parts: list[Part], rows: int, at: int) -> NDArray[Any]:
        """Items of one size from one buffer."""
        out = self._empty((rows, *shape), dtype)
        step = out.nbytes // rows
        if step:
            for part in parts:
                self._items(part, at, step, 0, _flat(out), part.places * step)
        return out

    def _ends(self, column: ColumnLayout, part: Part, at: int) -> Index:
        """For each row the offsets of its strings, and where the last one ends."""
        width = column.width if column.kind == "bytes" else 1
        out = np.empty((len(part.rows), width + 1), np.int64)
        goals = np.arange(len(part.rows)) * (8 * (width + 1))
        self._items(part, at + 1, 8 * width, 8, _flat(out), goals)
        return out

    def _items(self, part: Part, buffer: int, step: int, more: int, out: Bytes, places: Index) -> None:
        """Copy items from a buffer that has `step` bytes a row, and each with `more` bytes after it."""
        lengths = np.full(len(part.rows), step + more, np.int64)
        kept = None if self._resident else self._kept.of(part.file, buffer, step, more)
        if kept is None:
            self._copy(part.file, part.starts(buffer, step), lengths, out, places)
        else:
            values, begins = kept
            scatter_spans(out, places, values, begins[part.blocks] + part.rows * step, lengths)

    def _copy(self, file: SavedFile, starts: Index, lengths: Index, out: Bytes, places: Index) -> None:
        """Copy spans of a file that are in order, each to its place."""
        starts, lengths, places = _merged(starts, lengths, places)
        if self._resident:
            scatter_spans(out, places, file.mapped(), starts, lengths)
            return
        # For each span a read costs less than the faults of a page that is touched once, and then let go of.
        ends = starts + lengths
        apart = (starts[1:] - ends[:-1] > GAP) | (starts[1:] // PIECE != starts[:-1] // PIECE)
        firsts = [0, *(np.flatnonzero(apart) + 1).tolist(), len(starts)]
        begins, goals = starts.tolist(), places.tolist()
        for first, last in pairwise(firsts):
            begin, end = begins[first], int(ends[last - 1])
            if last - first == 1:
                file.read_into(begin, out[goals[first] : goals[first] + end - begin])
                continue
            piece = np.empty(end - begin, np.uint8)
            file.read_into(begin, piece)
            scatter_spans(out, places[first:last], piece, starts[first:last] - begin, lengths[first:last])


def _in_order(parts: list[Part]) -> list[Part]:
    """The places of a group's rows as the group's block has them."""
    places = np.sort(np.concatenate([part.places for part in parts]))
    return [Part(parts[0].file, places, places, places)]


def _flat(array: NDArray[Any]) -> Bytes:
    return array.reshape(-1).view(np.uint8)


def _merged(starts: Index, lengths: Index, places: Index) -> tuple[Index, Index, Index]:
    """Spans that lie side by side, here and there, as one."""
    apart = (starts[1:] != starts[:-1] + lengths[:-1]) | (places[1:] != places[:-1] + lengths[:-1])
    firsts = np.concatenate([[0], np.flatnonzero(apart) + 1])
    if len(firsts) == len(starts):
        return starts, lengths, places
    return starts[firsts], np.add.reduceat(lengths, firsts), places[firsts]
