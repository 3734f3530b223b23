"""What the features of tf.train.Example and SequenceExample records are like, over many records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.cli.inspecting.findings import Column, Pair, wider
from penstock.cli.inspecting.records import Batch
from penstock.cli.inspecting.values import look
from penstock.io.examples.found import hold
from penstock.kernels.example_entries import (
    FEATURE,
    FULL,
    LIST,
    NEW_KEY,
    STEP,
    WIDTH,
    WRONG,
    find_entries,
)
from penstock.kernels.spans import offsets_of

NAMES = 1000
"""So many names are told apart."""
LOOKED = 64
"""So many strings of a feature are looked at to see what they are."""
ENTRIES = 1 << 14
DTYPES = {0: "empty", 1: "bytes", 2: "float32", 3: "int64"}
WHY = {
    1: "it ends in the middle of a field",
    2: "a varint has more than 10 bytes",
    3: "a field that such a message does not have",
    4: "a group does not end",
    5: "a map entry has two values",
    6: "packed floats are no multiple of 4 bytes",
}

Index = NDArray[np.int64]
Wrong = Callable[[int, int, str], None]


class Stats:
    """One feature, of one kind."""

    def __init__(self) -> None:
        self.present = 0
        self.values: Pair | None = None
        self.range: Pair | None = None
        self.bytes: Pair | None = None
        self.nan = 0
        self.strings: list[bytes] = []

    def add(self, entries: Index, kind: int, batch: Batch) -> None:
        """Take in the entries of some records."""
        self.present += int(np.count_nonzero(np.diff(entries[:, 0], prepend=-1)))
        counts, first, last = (np.ascontiguousarray(entries[:, i]) for i in (4, 5, 6))
        self.values = wider(self.values, (int(counts.min()), int(counts.max())))
        some = counts > 0
        if kind == 0 or not some.any():
            return
        counts, first, last = counts[some], first[some], last[some]
        places = offsets_of(counts)
        if kind == 1:
            self._add_strings(counts, first, last, places, batch)
        else:
            self._add_numbers(kind, counts, first, last, places)

    def _add_numbers(self, kind: int, counts: Index, first: Index, last: Index, places: Index) -> None:
        from penstock.kernels.compiled import example_values as kernels

        out: Any
        if kind == 3:
            out = np.empty(int(places[-1]), np.int64)
            done = kernels.fill_ints(first, last, counts, places, out)
        else:
            out = np.empty(int(places[-1]), np.float32)
            done = kernels.fill_floats(first, last, counts, places, out.view(np.uint32))
        hold(done, len(first))
        if kind == 2:
            number = ~np.isnan(out)
            self.nan += int(len(out) - np.count_nonzero(number))
            out = out[number]
        if len(out):
            self.range = wider(self.range, (out.min().item(), out.max().item()))

    def _add_strings(self, counts: Index, first: Index, last: Index, places: Index, batch: Batch) -> None:
        from penstock.kernels.compiled import example_values as kernels

        begins, lengths = np.zeros((2, int(places[-1])), np.int64)
        hold(kernels.find_strings(first, last, counts, places, begins, lengths), len(first))
        self.bytes = wider(self.bytes, (int(lengths.min()), int(lengths.max())))
        base = batch.values.ctypes.data
        for begin, length in zip(
            (begins[:LOOKED] - base).tolist(), np.minimum(lengths[:LOOKED], 8192).tolist(), strict=True
        ):
            if len(self.strings) >= LOOKED:
                break
            self.strings.append(batch.values[begin : begin + length].tobytes())


class Profile:
    """All features of some files of records."""

    def __init__(self) -> None:
        self.examples = 0
        """Records that are such messages."""
        self.others = 0
        self.sequences = 0
        """Records with lists of features."""
        self.with_features = 0
        self.more_names = False
        self._names: list[bytes] = []
        self._keys, self._bounds = np.empty(0, np.uint8), np.zeros(1, np.int64)
        self._entries: Index = np.empty((ENTRIES, WIDTH), np.int64)
        self._stats: dict[tuple[int, int, int], Stats] = {}
        self._lists: dict[int, tuple[int, Pair]] = {}

    def add(self, batch: Batch, wrong: Wrong) -> None:
        """Take in some records; `wrong` is told the row of one that is none, the byte in it, and why."""
        row, fault = 0, np.zeros(2, np.int64)
        while row < len(batch.offsets) - 1:
            before = row
            row, count, why = find_entries(
                batch.values, batch.offsets, row, self._keys, self._bounds, NAMES, self._entries, fault
            )
            self._take(self._entries[:count], batch)
            self.examples += row - before
            if why == NEW_KEY:
                begin, size = fault.tolist()
                self._learn(batch.values[begin : begin + size].tobytes())
            elif why == FULL and not count:
                self._entries = np.empty((2 * int(fault[0]), WIDTH), np.int64)
            elif why == WRONG:
                self.others += 1
                wrong(row, int(fault[1]), WHY.get(int(fault[0]), "it is damaged"))
                row += 1

    def _learn(self, name: bytes) -> None:
        self._names.append(name)
        self._keys = np.frombuffer(b"".join(self._names), np.uint8)
        self._bounds = offsets_of(np.array([len(one) for one in self._names], np.int64))

    def _take(self, entries: Index, batch: Batch) -> None:
        if not len(entries):
            return
        rows = entries[:, 0]
        self.with_features += int(np.count_nonzero(np.diff(rows, prepend=-1)))
        lists = entries[entries[:, 1] == LIST]
        self.sequences += int(np.count_nonzero(np.diff(lists[:, 0], prepend=-1)))
        code = (entries[:, 2] * 4 + entries[:, 1]) * 4 + entries[:, 3]
        order = np.argsort(code, kind="stable")
        found, begins = np.unique(code[order], return_index=True)
        ends = [*begins[1:].tolist(), len(order)]
        for one, begin, end in zip(found.tolist(), begins.tolist(), ends, strict=True):
            key, part, kind = one >> 4, one >> 2 & 3, one & 3
            mine = entries[order[begin:end]]
            if key < 0:
                self.more_names = True
            elif part == LIST:
                seen, pair = self._lists.get(key, (0, None))
                steps = (int(mine[:, 4].min()), int(mine[:, 4].max()))
                self._lists[key] = (seen + len(mine), wider(pair, steps) or steps)
            else:
                self._stats.setdefault((part, key, kind), Stats()).add(mine, kind, batch)

    def columns(self) -> list[Column]:
        """The features, by name; those of the context before those of the lists."""
        found = []
        kinds: dict[tuple[int, int], list[int]] = {}
        for part, key, kind in self._stats:
            kinds.setdefault((part, key), []).append(kind)
        for key in self._lists:
            kinds.setdefault((STEP, key), [])
        for part, key in sorted(kinds, key=lambda one: (one[0], self._names[one[1]])):
            found += self._columns_of(part, key, sorted(kinds[part, key]))
        return found

    def _columns_of(self, part: int, key: int, kinds: list[int]) -> list[Column]:
        real = [kind for kind in kinds if kind] or [0]
        none = self._stats.get((part, key, 0)) if real != [0] else None
        context = "context" if self.sequences else ""
        steps = self._lists[key] if part == STEP else None
        found = []
        for kind in real:
            stats = self._stats.get((part, key, kind), Stats())
            values, present = stats.values, stats.present
            if none is not None and len(real) == 1:
                values, present = wider(values, (0, 0)), present + none.present
            found.append(
                Column(
                    self._names[key].decode(errors="backslashreplace"),
                    DTYPES[kind],
                    part=context if part == FEATURE else "sequence",
                    present=present if steps is None or len(real) > 1 else steps[0],
                    values=values,
                    steps=steps and steps[1],
                    range=stats.range,
                    bytes=stats.bytes,
                    looks_like=look(stats.strings) or (f"{stats.nan:,} NaN" if stats.nan else ""),
                )
            )
        return found
