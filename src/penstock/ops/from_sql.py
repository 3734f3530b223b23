"""`Dataset.from_sql`: the rows of a query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.blocks.block import Block
from penstock.blocks.spec import Spec
from penstock.errors import ArgumentError, ArgumentTypeError
from penstock.graph import checks
from penstock.graph.op import UNKNOWN, Op
from penstock.graph.running import Context, Running
from penstock.io.formats.sql import Asked, SqlReader
from penstock.io.formats.sql_connection import Connect, is_address, shown
from penstock.io.formats.sql_text import statements


@dataclass(frozen=True, eq=False, kw_only=True)
class FromSql(Op):
    """The rows of a query, each a dict by column."""

    query: str
    # Not shown, and not part of a fingerprint: it may have a password in it.
    connection: Connect = field(repr=False, metadata={"fingerprint": False})
    parameters: Any = None
    batch_rows: int | None = field(default=None, metadata={"fingerprint": False})
    fill_nulls: Mapping[str, Any] | None = None

    name = "from_sql"

    def __post_init__(self) -> None:
        if not isinstance(self.query, str):
            raise ArgumentTypeError(self.fail(f"expected the query to be a text, got {self.query!r}."))
        found = statements(self.query)
        if not found:
            raise ArgumentError(self.fail("expected a query, got an empty text."))
        if len(found) > 1:
            raise ArgumentError(
                self.fail(
                    f"expected one statement, got {len(found)}, the second of them {found[1][:80]!r}. "
                    f"Declare a dataset for each."
                )
            )
        self._check_connection()
        if self.parameters is not None and not isinstance(self.parameters, tuple | list | dict):
            raise ArgumentTypeError(
                self.fail(f"expected parameters to be a tuple, or a dict by name, got {self.parameters!r}.")
            )
        if self.batch_rows is not None:
            checks.count(self.batch_rows, "from_sql(batch_rows=)", least=1)
        if self.fill_nulls is not None and not isinstance(self.fill_nulls, Mapping):
            raise ArgumentTypeError(
                self.fail(f"expected fill_nulls to be a dict by column, got {self.fill_nulls!r}.")
            )

    def _check_connection(self) -> None:
        if not isinstance(self.connection, str):
            if not callable(self.connection) or hasattr(self.connection, "cursor"):  # sqlite3's are callable
                raise ArgumentTypeError(
                    self.fail(
                        f"expected connection to be an address, such as sqlite:///path, or a function that "
                        f"opens a connection, got {self.connection!r}. Every iteration opens one of its own."
                    )
                )
        elif not is_address(self.connection):
            raise ArgumentError(
                self.fail(
                    f"expected connection to be postgresql://user@host/database, sqlite:///path or a "
                    f"function that opens a connection, got {shown(self.connection)!r}."
                )
            )

    def arguments(self) -> dict[str, Any]:
        said = super().arguments()
        return {"query": said.pop("query"), "connection": shown(self.connection), **said}

    def start(self, context: Context) -> Running:
        return RunningSql(self, context)

    def find_spec(self) -> Spec | None:
        return None

    def find_cardinality(self) -> int:
        return UNKNOWN


class RunningSql(Running):
    """Runs the query anew, on a connection of its own."""

    replays = "a query begins with its first row"

    def __init__(self, op: FromSql, context: Context) -> None:
        fill_nulls = op.fill_nulls or {}
        self._reader = SqlReader(
            Asked(op.connection, op.query, op.parameters, op.batch_rows, fill_nulls), context
        )

    def pull(self, rows: int) -> Block | None:
        return self._reader.pull(rows)

    def state(self) -> Any:
        return None

    def restore(self, state: Any) -> None:
        assert state is None, "it begins at the beginning"

    def close(self) -> None:
        self._reader.close()
