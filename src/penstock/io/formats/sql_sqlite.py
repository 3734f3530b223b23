"""Queries on SQLite, whose values have types of their own, whatever their column.

Loads pyarrow: import this module only inside the function that needs it.
"""

from __future__ import annotations

import contextlib
from typing import Any

import pyarrow.compute as pc  # type: ignore[import-untyped, unused-ignore]
from pyarrow import types as kinds

from penstock.io.formats.arrow_types import ColumnTypeError, is_binary, is_text
from penstock.io.formats.sql_queries import Streamed
from penstock.io.formats.sql_sorting import Sorting, is_number, named, row_of
from penstock.io.formats.sql_text import statements

SHORT = r"^-?[0-9]\.[0-9]{6}e[+-][0-9]{2,3}$"
"""How the driver writes a number among texts: with seven digits."""
MISMATCH = "Type mismatch in column"
"""What the driver says of a value that cannot be written as those of the first batch."""
EXACT = 1 << 53
"""Beyond this, not every whole number is a float."""


class SqliteQuery(Streamed):
    """One statement. A column with values of several types gets one that all of them can be written in."""

    def __init__(self, connection: Any, query: str, parameters: Any, options: dict[str, str]) -> None:
        super().__init__(connection, query, parameters, options)
        self._connection = connection
        self._options = options
        self._sure: set[int] = set()
        self._passed = 0  # rows
        self._schema: Any = None
        self._last: list[Any] = []
        """The numbers of the last of them."""
        self._numbers: set[int] = set()
        """The columns that have had numbers, and nothing else."""
        self._sorting: Sorting | None = None

    def next(self) -> Any:
        if self._sorting is not None:
            return self._next_sorted()
        try:
            batch = super().next()
        except OSError as error:
            if MISMATCH not in str(error) or not self._numbers or not self._sort_out():
                raise
            return self._next_sorted()
        if batch is not None:
            self._passed += batch.num_rows
            self._schema = batch.schema
            self._last = row_of(batch, batch.num_rows - 1)
            for at, column in enumerate(batch.columns):
                if is_number(column.type) and column.null_count < batch.num_rows:
                    self._numbers.add(at)
        return batch

    def _sort_out(self) -> bool:
        """Ask again for the rows from here on, with a word for each that has text among numbers.

        False if the query is none that can be a part of another one.
        """
        query, parameters = self._asked
        sorting = Sorting(self._schema, self._numbers, self._last)
        cursor = self._connection.cursor(adbc_stmt_kwargs=self._options)
        try:
            # The other one is not closed yet: both see the database as it was when that one began.
            cursor.execute(sorting.asked(statements(query)[0], self._passed), parameters)
            reader = cursor.fetch_record_batch()
        except Exception:
            cursor.close()
            return False
        super().close()
        self._cursor, self._reader, self._sorting = cursor, reader, sorting
        return True

    def _next_sorted(self) -> Any:
        assert self._sorting is not None
        while True:
            batch = super().next()
            if batch is None:
                return None
            batch = self._sorting.sorted(batch)
            if batch.num_rows:
                return batch

    def wrong(self) -> list[tuple[int, str]]:
        return [] if self._sorting is None else self._sorting.wrong

    def check(self, batch: Any) -> None:
        """`ColumnTypeError` where the driver has changed numbers to make them fit in."""
        for at, (name, column) in enumerate(zip(batch.schema.names, batch.columns, strict=True)):
            if at in self._sure or not (lost := _lost_in(column)):
                continue
            if self._is_any(lost, at, batch.num_columns):
                raise ColumnTypeError(
                    f"column {name!r} has values of several types: as {column.type}, numbers lose digits. "
                    f"SQLite's values have types of their own: CAST it to one of them in the query"
                )
            self._sure.add(at)

    def _is_any(self, lost: str, at: int, width: int) -> bool:
        query, parameters = self._asked
        asked = named(statements(query)[0], width) + "SELECT 1 FROM penstock WHERE "
        with contextlib.closing(self._connection.cursor()) as cursor:
            cursor.execute(asked + lost.format(f"c{at}") + " LIMIT 1", parameters)
            return cursor.fetchone() is not None


def _lost_in(column: Any) -> str:
    """Which values of a column are not as they were, where it looks as if there were some; in SQL."""
    if is_text(column.type) or is_binary(column.type):
        if pc.any(pc.match_substring_regex(column, SHORT)).as_py():
            return "typeof({}) = 'real'"
    elif kinds.is_floating(column.type) and pc.any(pc.greater_equal(pc.abs(column), float(EXACT))).as_py():
        return f"typeof({{0}}) = 'integer' AND {{0}} NOT BETWEEN {-EXACT} AND {EXACT}"
    return ""
