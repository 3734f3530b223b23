"""What the formats of Arrow's family have in common: record batches to blocks, bad rows one by one."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from penstock.blocks.block import Block
from penstock.blocks.columns import Column
from penstock.blocks.spec import Spec, dtype_name
from penstock.errors import ArgumentTypeError, DataError
from penstock.graph.running import Context
from penstock.io.formats.optional import optional
from penstock.io.formats.reader import Reader


class Agreement:
    """What the rows of one run look like: the first file decides, and the others are like it."""

    def __init__(self) -> None:
        self.spec: Spec | None = None
        self._file = ""

    def check(self, spec: Spec, file: str) -> str:
        """What is other in this file, in words; nothing if it agrees."""
        if self.spec is None:
            self.spec, self._file = spec, file
        if self.spec == spec:
            return ""
        ours, theirs = _by_path(self.spec), _by_path(spec)
        names = [path for path in {**ours, **theirs} if ours.get(path) != theirs.get(path)]
        if not names:
            return f"expected its columns in the order of {self._file}. Name them in order: columns=[...]"
        shown = [
            f"{path} is {theirs.get(path, 'not there')} ({ours.get(path, 'not there')})" for path in names
        ]
        return (
            f"expected columns as in {self._file}, but {', '.join(shown)}. "
            f"Choose those that are alike, columns=[...], or read the files as two datasets"
        )


def _by_path(spec: Spec) -> dict[str, str]:
    pairs = zip(spec.structure.paths(), spec.leaves, strict=True)
    return {path: f"{dtype_name(leaf.dtype)}{list(leaf.shape or ())}" for path, leaf in pairs}


class TableReader(Reader):
    """A file of record batches. A subclass gives the batches, and is one piece of them at a time."""

    own = True
    """Whether nobody else has the batches, so that rows may be written to."""
    copy: Callable[[Column], Column] | None = None
    """What copies a column, where the batches do not stay."""

    def __init__(self, path: str, context: Context, fill_nulls: Mapping[str, Any]) -> None:
        self._arrow = optional("pyarrow", "parquet")
        from penstock.io.formats import arrow_columns

        self._convert = arrow_columns
        self._path = path
        self._context = context
        self._fill = fill_nulls
        self._spec: Spec | None = None
        self._block: Block | None = None
        self._at = 0
        self._rows = 0
        self._bad: deque[tuple[int, int, str]] = deque()  # good rows before it, its number, what it has

    @abstractmethod
    def next_batch(self) -> Any:
        """The next record batch, of at least one row; None at the end."""

    def settle(self, schema: Any, agreement: Agreement | None) -> None:
        """Find the spec of the rows. `DataError` if there is none, or another one than before."""
        try:
            self._spec = self._convert.spec_of(schema)
        except self._convert.ColumnTypeError as error:
            raise self.failed(f"{error}. Leave it out: columns=[...]") from None
        known = [field.name for field in schema]
        for name in self._fill:
            if not any(name == one or name.startswith(f"{one}.") for one in known):
                raise self.failed(f"expected fill_nulls to name columns of {known}, got {name!r}")
        other = "" if agreement is None or self._spec is None else agreement.check(self._spec, self._path)
        if other:
            raise self.failed(other)
        try:
            self._convert.check_fills(schema, self._fill)
        except self._convert.ColumnTypeError as error:  # no file is at fault, so none is passed over
            raise ArgumentTypeError(f"{self._context.where}: {self._path}: {error}.") from None

    def check_columns(self, columns: tuple[str, ...], names: list[str]) -> None:
        """`DataError` if one of the columns that were asked for is not among those that there are."""
        for name in columns:
            if name not in names:
                raise self.failed(f"expected the column {name!r}, got a file with {names}")

    def failed(self, what: str, offset: int = -1) -> DataError:
        """An error about this file."""
        where = self._path if offset < 0 else f"{self._path} at byte {offset}"
        return DataError(
            f"{self._context.where}: {where}: {what}.",
            op=self._context.label,
            file=self._path,
            offset=offset,
        )

    def pull(self, rows: int) -> Block | None:
        while True:
            if self._bad and self._bad[0][0] == self._at:
                _, number, what = self._bad.popleft()
                raise self.failed(f"row {number}: {what}")
            if self._block is not None and self._at < self._block.rows:
                return self._slice(rows)
            self._block, self._at = None, 0
            batch = self.next_batch()
            if batch is None:
                return None
            self._take(batch)

    def _slice(self, rows: int) -> Block:
        block = self._block
        assert block is not None
        stop = min(self._at + rows, self._bad[0][0] if self._bad else block.rows)
        piece = block.slice(self._at, stop)
        self._at = stop
        if stop == block.rows and not self._bad:
            self._block, self._at = None, 0
        return piece

    def _take(self, batch: Any) -> None:
        """Make a block of the batch's good rows, and remember where the others were."""
        first, count = self._rows, batch.num_rows
        self._rows += count
        kept = np.arange(count)
        bad: list[tuple[int, str]] = []
        while batch.num_rows:
            try:
                self._block = self._convert.block_of(
                    batch, self._spec, fill_nulls=self._fill, own=self.own, copy=self.copy
                )
                break
            except self._convert.RowsError as error:
                what = f"{error.what} ({len(error.rows)} of {batch.num_rows} rows here are so)"
                bad += [(int(row), what) for row in kept[error.rows]]
                good = np.ones(batch.num_rows, bool)
                good[error.rows] = False
                batch, kept = batch.take(np.flatnonzero(good)), kept[good]
            except self._convert.ColumnTypeError as error:
                raise self.failed(str(error)) from None
            except self._arrow.ArrowException as error:
                what = f"the rows from {first} up to {self._rows} are damaged, and passed over: {error}"
                raise self.failed(what) from error
        for row, what in sorted(bad):
            self._bad.append((int(np.searchsorted(kept, row)), first + row, what))

    def close(self) -> None:
        self._block = None
        self._bad.clear()
