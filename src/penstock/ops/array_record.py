"""`ps.ArrayRecordDataset`: the records of ArrayRecord files."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.blocks.spec import BYTES, Spec, TensorSpec
from penstock.blocks.structure import LEAF
from penstock.graph.running import Context
from penstock.io.formats.array_record import ArrayRecordFile
from penstock.io.formats.indexed import IndexedFile
from penstock.ops.parts.indexed_files import IndexedFilesOp


@dataclass(frozen=True, eq=False, kw_only=True)
class ArrayRecords(IndexedFilesOp):
    """The records of all files, as bytes, in the order of the files' names."""

    name = "ArrayRecordDataset"

    def open(self, path: str, context: Context) -> IndexedFile:
        return ArrayRecordFile(path, context)

    def find_spec(self) -> Spec | None:
        return Spec(LEAF, [TensorSpec((), BYTES)])
