"""Record batches of a database as blocks.

Loads pyarrow: import this module only inside the function that needs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heappop, heappush
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from penstock.blocks.block import Block
from penstock.io.formats.arrow_columns import ColumnTypeError, RowsError, block_of, check_fills, spec_of

__all__ = ["ColumnTypeError", "Rows", "Table"]

CHANGE = "Change it in the query: CAST it to another type, and give every column a name of its own"


class Table:
    """What is known of a query's columns; makes blocks of its batches."""

    def __init__(self, schema: Any, fill_nulls: Mapping[str, Any]) -> None:
        self.fill_nulls = fill_nulls
        unknown = sorted({name.split(".")[0] for name in fill_nulls} - set(schema.names))
        if unknown:
            raise ColumnTypeError(f"fill_nulls names {unknown}, but the columns are {schema.names}")
        self._numbers = []
        """The columns of decimal numbers, which come as text."""
        for at, field in enumerate(schema):
            if isinstance(field.type, pa.OpaqueType):
                kind = field.type.type_name
                if kind != "numeric":
                    what = f"column {field.name!r} has the type {kind}, which has no form in NumPy"
                    raise ColumnTypeError(f"{what}. {CHANGE}")
                schema = schema.set(at, pa.field(field.name, pa.float64()))
                self._numbers.append(at)
        try:
            self.spec = spec_of(schema)
        except ColumnTypeError as error:
            raise ColumnTypeError(f"{error}. {CHANGE}") from None
        try:
            check_fills(schema, fill_nulls)
        except ColumnTypeError as error:
            raise ColumnTypeError(f"{error}, or put it there in the query, with COALESCE") from None

    def rows(self, batch: Any, wrong: list[tuple[int, str]]) -> Rows:
        """The rows of one batch, of which some are known to be wrong, and why."""
        for at in self._numbers:
            column = batch.column(at).storage.cast(pa.float64())
            batch = batch.set_column(at, batch.schema.field(at).name, column)
        return Rows(self, batch, wrong)


class Rows:
    """One batch on its way to blocks."""

    def __init__(self, table: Table, batch: Any, wrong: list[tuple[int, str]]) -> None:
        self._table = table
        self._batch = batch
        self._at = 0
        self._bad = sorted(wrong)
        """A heap of rows that are known to be no elements, and what they have."""

    def next(self) -> Block | str | None:
        """The rows up to one that is no element; or what that one has, in words; None at the end."""
        while self._at < self._batch.num_rows:
            stop = self._bad[0][0] if self._bad else self._batch.num_rows
            if stop == self._at:
                _, what = heappop(self._bad)
                self._at += 1
                while self._bad and self._bad[0][0] < self._at:
                    heappop(self._bad)
                return what
            try:
                part = self._batch.slice(self._at, stop - self._at)
                block = block_of(part, self._table.spec, fill_nulls=self._table.fill_nulls)
            except RowsError as error:
                for row in error.rows.tolist():
                    heappush(self._bad, (self._at + row, error.what))
                continue
            self._at = stop
            return block
        return None
