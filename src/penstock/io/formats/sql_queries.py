"""A query at work in a database: record batches, one after another, whatever the driver.

PostgreSQL streams a query without parameters by itself (COPY, batches by bytes). It cannot do so with
parameters; there a cursor on the server is asked for some rows at a time.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from typing import Any

from penstock.io.formats.sql_text import statements

PROBED = 16
"""So many rows of a query on SQLite are looked at, to learn how large its rows are."""
MOST_ROWS = 1024
"""So many rows at most are asked for at a time where nobody said how many."""
CURSOR = "penstock"
HINT = "adbc.postgresql.batch_size_hint_bytes"


class Query(ABC):
    """A query at work; it does not own its connection."""

    in_rows: bool
    """Whether a batch is a number of rows, however large they are."""

    @abstractmethod
    def next(self) -> Any:
        """The next record batch, of at least one row; None at the end."""

    def check(self, batch: Any) -> None:  # noqa: B027
        """`ColumnTypeError` where a batch has not the values that the database has."""

    def wrong(self) -> list[tuple[int, str]]:
        """The rows of the last batch that are known to be no elements, and what they have."""
        return []

    @abstractmethod
    def cancel(self) -> None:
        """Have the server stop; may be called from any thread, also while another one waits in `next`."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the cursor."""


class Streamed(Query):
    """One statement, whose rows the driver hands over in batches."""

    def __init__(self, connection: Any, query: str, parameters: Any, options: dict[str, str]) -> None:
        self.in_rows = HINT not in options
        self._asked = query, parameters
        self._cursor = connection.cursor(adbc_stmt_kwargs=options)
        self._reader: Any = None

    def next(self) -> Any:
        if self._reader is None:
            self._cursor.execute(*self._asked)
            self._reader = self._cursor.fetch_record_batch()
        while True:
            try:
                batch = self._reader.read_next_batch()
            except StopIteration:
                return None
            if batch.num_rows:
                return batch

    def cancel(self) -> None:
        self._cursor.adbc_cancel()

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
        self._cursor.close()


class Fetched(Query):
    """A cursor of PostgreSQL's own, asked for more rows as long as they are small."""

    in_rows = True

    def __init__(
        self, connection: Any, query: str, parameters: Any, batch_bytes: int, batch_rows: int | None
    ) -> None:
        self._declaring = connection.cursor()
        self._fetching = connection.cursor(adbc_stmt_kwargs={"adbc.postgresql.use_copy": "false"})
        self._asked = f"DECLARE {CURSOR} NO SCROLL CURSOR FOR {query}", parameters
        self._declared = False
        self._batch_bytes = batch_bytes
        self._most = batch_rows or MOST_ROWS
        self._rows = batch_rows or 1

    def next(self) -> Any:
        if not self._declared:
            self._declaring.execute(*self._asked)
            self._declared = True
        self._fetching.execute(f"FETCH FORWARD {self._rows} FROM {CURSOR}")
        table = self._fetching.fetch_arrow_table()
        if not table.num_rows:
            return None
        row_bytes = max(table.nbytes // table.num_rows, 1)
        self._rows = max(1, min(4 * self._rows, self._batch_bytes // row_bytes, self._most))
        return table.combine_chunks().to_batches()[0]

    def cancel(self) -> None:
        self._fetching.adbc_cancel()

    def close(self) -> None:
        self._fetching.close()
        self._declaring.close()


def start_query(
    connection: Any, query: str, parameters: Any, batch_bytes: int, batch_rows: int | None
) -> Query:
    """A query that runs when it is first asked for a batch.

    Batches have about `batch_bytes`, or at most `batch_rows` rows.
    """
    vendor = connection.adbc_get_info().get("vendor_name", "")
    if vendor == "PostgreSQL":
        # The driver wraps the query in a statement of its own, which a semicolon or a comment would end.
        query = statements(query)[0] + "\n"
        if parameters is not None:
            return Fetched(connection, query, parameters, batch_bytes, batch_rows)
        return Streamed(connection, query, None, {HINT: str(batch_bytes)})
    if vendor == "SQLite":
        from penstock.io.formats.sql_sqlite import SqliteQuery

        rows = batch_rows or _rows_that_fit(connection, query, parameters, batch_bytes)
        return SqliteQuery(connection, query, parameters, _in_rows(rows))
    return Streamed(connection, query, parameters, {})


def _in_rows(rows: int) -> dict[str, str]:
    return {"adbc.sqlite.query.batch_rows": str(rows)}


def _rows_that_fit(connection: Any, query: str, parameters: Any, batch_bytes: int) -> int:
    """How many rows make a batch: the driver counts in rows alone, and they may be large."""
    largest = 1
    with contextlib.closing(Streamed(connection, query, parameters, _in_rows(1))) as probe:
        for _ in range(PROBED):
            try:
                batch = probe.next()
            except OSError:  # a value of another type than the first one, which is no trouble in one batch
                break
            if batch is None or largest >= batch_bytes:
                break
            largest = max(largest, int(batch.nbytes))
    return max(1, min(batch_bytes // largest, MOST_ROWS))
