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
from penstock.io.formats.sql_text import statements

SHORT = r"^-?[0-9]\.[0-9]{6}e[+-][0-9]{2,3}$"
"""How the driver writes a number among texts: with seven digits."""
EXACT = 1 << 53
"""Beyond this, not every whole number is a float."""


class SqliteQuery(Streamed):
    """One statement. A column with values of several types gets one that all of them can be written in."""

    def __init__(self, connection: Any, query: str, parameters: Any, options: dict[str, str]) -> None:
        super().__init__(connection, query, parameters, options)
        self._connection = connection
        self._sure: set[int] = set()

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
        names = ", ".join(f"c{i}" for i in range(width))
        asked = f"WITH penstock ({names}) AS ({statements(query)[0]}\n) SELECT 1 FROM penstock WHERE "
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
