"""`Dataset.from_arrow`: the rows of a table that is in memory already."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from penstock.blocks.block import Block
from penstock.blocks.spec import Spec
from penstock.errors import ArgumentTypeError
from penstock.graph.op import UNKNOWN, Op
from penstock.graph.running import Context, Running
from penstock.io.formats.optional import optional
from penstock.io.formats.tables import TableReader


@dataclass(frozen=True, eq=False, kw_only=True)
class FromArrow(Op):
    """The rows of a table, each a dict of the columns; the table's memory is not copied."""

    table: Any = field(repr=False)
    fill_nulls: tuple[tuple[str, Any], ...] = ()

    name = "from_arrow"

    def __post_init__(self) -> None:
        arrow = optional("pyarrow", "parquet")
        if isinstance(self.table, arrow.RecordBatchReader):
            raise ArgumentTypeError(
                self.fail(
                    "expected a table, which can be read again and again, got a reader, which can be read "
                    "once. Use from_arrow(reader.read_all())."
                )
            )
        if not callable(getattr(self.table, "__arrow_c_stream__", None)):
            raise ArgumentTypeError(
                self.fail(
                    f"expected a table of pyarrow or one that can be one, as data frames can, "
                    f"got a {type(self.table).__name__}."
                )
            )

    def start(self, context: Context) -> Running:
        return RunningTable(self, context)

    def _known(self) -> Any:
        """The table, where asking it costs nothing."""
        arrow = optional("pyarrow", "parquet")
        return self.table if isinstance(self.table, arrow.Table | arrow.RecordBatch) else None

    def find_spec(self) -> Spec | None:
        known = self._known()
        if known is None:
            return None
        from penstock.io.formats.arrow_columns import ColumnTypeError, check_fills, spec_of

        try:
            spec = spec_of(known.schema)
        except ColumnTypeError as error:
            raise ArgumentTypeError(self.fail(f"{error}. Leave it out: table.select([...]).")) from None
        try:
            check_fills(known.schema, dict(self.fill_nulls))
        except ColumnTypeError as error:
            raise ArgumentTypeError(self.fail(f"{error}.")) from None
        return spec

    def find_cardinality(self) -> int:
        known = self._known()
        return UNKNOWN if known is None else int(known.num_rows)

    def describe(self) -> str:
        return f"from_arrow({type(self.table).__name__})"


class RunningTable(Running):
    """Hands out pieces of the table's batches."""

    replays = "a table is read from its first row on"

    def __init__(self, op: FromArrow, context: Context) -> None:
        self._reader = _TableRows(op, context)

    def pull(self, rows: int) -> Block | None:
        return self._reader.pull(rows)

    def state(self) -> Any:
        return None

    def restore(self, state: Any) -> None:
        assert state is None, "it begins at the beginning"

    def close(self) -> None:
        self._reader.close()


class _TableRows(TableReader):
    own = False

    def __init__(self, op: FromArrow, context: Context) -> None:
        super().__init__("the table", context, dict(op.fill_nulls))
        stream = self._arrow.RecordBatchReader.from_stream(op.table)
        self.settle(stream.schema, None)
        self._batches: Iterator[Any] = iter(stream)
        self._batch: Any = None
        self._first = 0

    def next_batch(self) -> Any:
        while self._batch is None or self._first == self._batch.num_rows:
            self._batch, self._first = next(self._batches, None), 0
            if self._batch is None:
                return None
        first = self._first
        rows = self._context.rows_for(self._batch.nbytes // max(self._batch.num_rows, 1))
        self._first = min(first + rows, self._batch.num_rows)
        return self._batch.slice(first, self._first - first)

    def close(self) -> None:
        super().close()
        self._batches, self._batch = iter(()), None
