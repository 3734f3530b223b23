"""A query's rows as blocks, over a connection of its own."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.blocks.block import Block
from penstock.errors import (
    ArgumentError,
    ArgumentTypeError,
    ClosedError,
    DataError,
    PenstockError,
    StoreError,
)
from penstock.graph.running import Context
from penstock.io.formats.reader import Reader
from penstock.io.formats.sql_connection import Connect, connect, shown
from penstock.io.formats.sql_queries import Query, start_query
from penstock.memory.account import fewer

if TYPE_CHECKING:
    from penstock.io.formats.sql_rows import Rows, Table

BATCH_BYTES = 256 << 10
"""About what a batch has at most: larger ones gain little, and the first row waits for a whole one."""
CLOSED = "This iteration was closed."


@dataclass(frozen=True)
class Asked:
    """What is asked of which database."""

    connection: Connect
    query: str
    parameters: Any
    batch_rows: int | None
    fill_nulls: Mapping[str, Any]


def _fewer_rows(batch: Any, room: int) -> str:
    """The remedy where a batch does not fit: its rows may be of very different sizes."""
    largest = max(batch.slice(row, 1).nbytes for row in range(batch.num_rows))
    return fewer("batch_rows", largest)(room)


class SqlReader(Reader):
    """One query at work. The connection is opened at the first pull, and closed at the end."""

    def __init__(self, asked: Asked, context: Context) -> None:
        self._asked = asked
        self._context = context
        self._connection: Any = None
        self._query: Query | None = None
        self._table: Table | None = None
        self._rows: Rows | None = None
        self._block: Block | None = None
        self._seen = 0
        self._ended = False
        self._lock = threading.Lock()
        """Held round what must not happen at once: closing a query, and stopping it from another thread."""
        self._stopped = False
        self._release = context.on_close(self._stop)

    def pull(self, rows: int) -> Block | None:
        if self._block is None and not self._ended:
            self._block = self._next_block()
        block = self._block
        if block is None:
            return None
        self._block = block.slice(rows, block.rows) if block.rows > rows else None
        self._seen += min(rows, block.rows)
        return block.slice(0, min(rows, block.rows))

    def _next_block(self) -> Block | None:
        while True:
            found = None
            if self._rows is not None:
                with self._in_columns():
                    found = self._rows.next()
            if isinstance(found, str):
                number, self._seen = self._seen, self._seen + 1
                raise DataError(
                    f"{self._context.where}, element {number}: {found}.",
                    op=self._context.label,
                    number=number,
                )
            if found is not None:
                return found
            self._rows = None
            with self._talking():
                batch = self._next_batch()
            if batch is None:
                self._ended = True
                self.close()
                return None
            self._rows = self._rows_of(batch)

    def _next_batch(self) -> Any:
        if self._query is None:
            asked = self._asked
            self._connection = connect(asked.connection)
            batch_bytes = min(self._context.block_bytes, BATCH_BYTES)
            query = start_query(
                self._connection, asked.query, asked.parameters, batch_bytes, asked.batch_rows
            )
            with self._lock:
                self._query = query
        if self._stopped:
            raise ClosedError(CLOSED)
        return self._query.next()

    def _rows_of(self, batch: Any) -> Rows:
        from penstock.io.formats.sql_rows import Table

        if self._query is not None and self._query.in_rows and batch.num_rows > 1:
            self._context.account.need(batch.nbytes, lambda room: _fewer_rows(batch, room))
        with self._talking(), self._in_columns():
            if self._query is not None:
                self._query.check(batch)
            if self._table is None:
                self._table = Table(batch.schema, self._asked.fill_nulls)
            return self._table.rows(batch, [] if self._query is None else self._query.wrong())

    @contextlib.contextmanager
    def _in_columns(self) -> Iterator[None]:
        """Round what makes columns: a type that cannot be one is told in our words."""
        from penstock.io.formats.sql_rows import ColumnTypeError

        try:
            yield
        except ColumnTypeError as error:
            raise ArgumentTypeError(f"{self._context.where}: {error}.") from None

    @contextlib.contextmanager
    def _talking(self) -> Iterator[None]:
        """Round all talk with the database: what goes wrong there is told in our words."""
        try:
            yield
        except PenstockError:
            raise
        except Exception as error:
            if self._stopped:
                raise ClosedError(CLOSED) from None
            raise self._failed(error) from error

    def _failed(self, error: Exception) -> PenstockError:
        asked, where = self._asked, self._context.where
        said = " ".join(str(error).split()) or type(error).__name__
        if isinstance(asked.connection, str):
            said = said.replace(asked.connection, str(shown(asked.connection)))
        if self._connection is None:
            to = shown(asked.connection) if isinstance(asked.connection, str) else "the database"
            return StoreError(f"{where}: cannot connect to {to}: {said}.")
        if any(kind.__name__ == "ProgrammingError" for kind in type(error).__mro__):
            return ArgumentError(f"{where}: the database refuses the query: {said}.")
        hint = ""
        if "Type mismatch in column" in said:
            hint = (
                " SQLite's values have types of their own, and a column gets the type of its first "
                "batch_rows values: CAST it in the query, or raise batch_rows."
            )
        return StoreError(f"{where}: the query failed after {self._seen} rows: {said}.{hint}")

    def _stop(self) -> None:
        """Have the database stop, whatever another thread may be waiting for."""
        with self._lock:
            self._stopped = True
            if self._query is not None and not self._ended:
                with contextlib.suppress(Exception):  # a lost connection, or a driver that cannot
                    self._query.cancel()

    def close(self) -> None:
        self._stop()
        with self._lock:
            query, self._query = self._query, None
        self._release()
        connection, self._connection = self._connection, None
        self._rows = self._block = None
        self._ended = True
        try:
            if query is not None:
                query.close()
        finally:
            if connection is not None:
                connection.close()
