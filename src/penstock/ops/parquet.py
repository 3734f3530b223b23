"""`ps.ParquetDataset`: the rows of Parquet files."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.graph import checks
from penstock.graph.running import Context
from penstock.io.formats.parquet import ParquetReader
from penstock.io.formats.reader import Reader
from penstock.ops.parts.tables import TablesOp


@dataclass(frozen=True, eq=False, kw_only=True)
class Parquet(TablesOp):
    """The rows of Parquet files, each a dict of the columns."""

    batch_rows: int | None = None

    name = "ParquetDataset"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.batch_rows is not None:
            checks.count(self.batch_rows, f"{self.name}(batch_rows=)", least=1)

    def open(self, path: str, context: Context) -> Reader:
        return ParquetReader(
            path,
            context,
            columns=self.columns,
            batch_rows=self.batch_rows,
            fill_nulls=dict(self.fill_nulls),
            agreement=self.agreement,
        )
