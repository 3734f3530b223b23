"""`TextLineDataset`: the lines of text files."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.blocks.spec import BYTES, Spec, TensorSpec
from penstock.blocks.structure import LEAF
from penstock.graph.running import Context
from penstock.io.formats.text import TextLineReader
from penstock.io.stores.decompress import open_stream
from penstock.ops.parts.files import FilesOp


@dataclass(frozen=True, eq=False, kw_only=True)
class TextLines(FilesOp):
    """The lines of all files, as `bytes`."""

    name = "TextLineDataset"

    def find_spec(self) -> Spec | None:
        return Spec(LEAF, [TensorSpec((), BYTES)])

    def open(self, path: str, context: Context) -> TextLineReader:
        stream = open_stream(path, self.compression_type, context)
        return TextLineReader(stream, context, self.buffer_size)
