"""`ps.NpyDataset`: the rows of arrays in NumPy's own files."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.blocks.spec import Spec
from penstock.graph.running import Context
from penstock.io.formats.indexed import IndexedFile
from penstock.io.formats.npy_file import ArrayFile
from penstock.ops.parts.indexed_files import IndexedFilesOp


@dataclass(frozen=True, eq=False, kw_only=True)
class Npy(IndexedFilesOp):
    """The rows of the arrays in all files, in the order of the files' names."""

    arrays: tuple[str, ...] | None = None

    name = "NpyDataset"

    def open(self, path: str, context: Context) -> IndexedFile:
        return ArrayFile(path, context, self.arrays)

    def find_spec(self) -> Spec | None:
        return None  # the files know, and declaring a dataset opens none
