"""Rows of SQLite that have text in a column of numbers: which they are, and all others as they should be.

Loads pyarrow: import this module only inside the function that needs it.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
from pyarrow import types as kinds

LITERALS = {pa.int64(): "0", pa.float64(): "0.0", pa.string(): "''", pa.binary(): "x''"}
"""For each type that the driver gives a column, a value of it."""
WRONG = "typeof({0}) IN ('text', 'blob')"
SHOWN = 40
"""So many characters of a value are shown."""


def is_number(kind: Any) -> bool:
    """Whether it is a type of numbers."""
    return bool(kinds.is_integer(kind) or kinds.is_floating(kind))


def named(query: str, width: int) -> str:
    """The beginning of a query on the rows of another one, which are called `penstock` (c0, c1, ...)."""
    return f"WITH penstock ({', '.join(f'c{i}' for i in range(width))}) AS ({query}\n) "


def row_of(batch: Any, row: int) -> list[Any]:
    """The numbers of a row."""
    return [column[row].as_py() for column in batch.columns if is_number(column.type)]


class Sorting:
    """Asks for rows with a column more, which says what is wrong with them."""

    def __init__(self, schema: Any, numbers: set[int], last: list[Any]) -> None:
        """Those of `numbers` are columns of numbers; `last` are those of the row that came last."""
        self._schema = schema
        self._numbers = sorted(numbers)
        self._last: list[Any] | None = last
        self._begun = False
        self.wrong: list[tuple[int, str]] = []
        """The rows of the last batch that are no elements, and what they have."""

    def asked(self, query: str, passed: int) -> str:
        """The query for the rows after those that have passed.

        Before them come one that only tells the types, and the last that has passed.
        """
        types = ", ".join(LITERALS.get(kind, "NULL") for kind in self._schema.types)
        columns = [f"c{i}" for i in range(len(self._schema))]
        whens = []
        for i in self._numbers:
            value = columns[i]
            said = f"'{i} ' || typeof({value}) || ' ' || quote(substr({value}, 1, {SHOWN}))"
            whens.append(f"WHEN {WRONG.format(value)} THEN {said}")
            zero = LITERALS.get(self._schema.types[i], "0")
            columns[i] = f"CASE WHEN {WRONG.format(value)} THEN {zero} ELSE {value} END"
        sorted_out = f"SELECT {', '.join(columns)}, CASE {' '.join(whens)} ELSE '' END FROM penstock"
        return (
            f"{named(query, len(self._schema))}SELECT {types}, '' "
            f"UNION ALL SELECT * FROM ({sorted_out} LIMIT -1 OFFSET {passed - 1})"
        )

    def sorted(self, batch: Any) -> Any:
        """The batch as it would have been, with anything where there is no number; sets `wrong`."""
        if not self._begun:
            batch, self._begun = batch.slice(1), True
        columns, said = batch.columns[:-1], batch.columns[-1].to_pylist()
        for column, field in zip(columns, self._schema, strict=True):
            if column.type != field.type:
                raise OSError(
                    f"Type mismatch in column {field.name!r}: expected {field.type}, got {column.type}"
                )
        made = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        if self._last is not None and made.num_rows:
            if row_of(made, 0) != self._last:
                raise OSError(
                    "Type mismatch in column, and the query gives other rows when it is asked again"
                )
            made, said, self._last = made.slice(1), said[1:], None
        self.wrong = [(row, self._what(one)) for row, one in enumerate(said) if one]
        return made

    def _what(self, said: str) -> str:
        at, kind, value = said.split(" ", 2)
        field = self._schema.field(int(at))
        return (
            f"column {field.name!r} has the {kind} {value}, where the first rows have {field.type}. SQLite's "
            f"values have types of their own: CAST it in the query, or raise batch_rows"
        )
