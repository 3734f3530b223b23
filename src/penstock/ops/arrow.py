"""`ps.ArrowDataset`: the rows of Arrow's own files and streams."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.graph.running import Context
from penstock.io.formats.arrow_ipc import ArrowReader
from penstock.io.formats.reader import Reader
from penstock.ops.parts.tables import TablesOp


@dataclass(frozen=True, eq=False, kw_only=True)
class Arrow(TablesOp):
    """The rows of files and streams of record batches, each a dict of the columns."""

    name = "ArrowDataset"

    def open(self, path: str, context: Context) -> Reader:
        return ArrowReader(
            path,
            context,
            columns=self.columns,
            fill_nulls=dict(self.fill_nulls),
            agreement=self.agreement,
        )
