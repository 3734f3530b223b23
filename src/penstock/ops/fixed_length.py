"""`FixedLengthRecordDataset`: the records of files, each of one length."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.blocks.spec import BYTES, Spec, TensorSpec
from penstock.blocks.structure import LEAF
from penstock.graph import checks
from penstock.graph.running import Context
from penstock.io.formats.fixed_length import FixedLengthReader
from penstock.io.stores.decompress import open_stream
from penstock.ops.parts.files import FilesOp


@dataclass(frozen=True, eq=False, kw_only=True)
class FixedLengthRecords(FilesOp):
    """The records of all files, as `bytes`."""

    record_bytes: int
    header_bytes: int | None = None
    footer_bytes: int | None = None

    name = "FixedLengthRecordDataset"

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.count(self.record_bytes, f"{self.name}(record_bytes=)", least=1)
        for which in ("header_bytes", "footer_bytes"):
            if getattr(self, which) is not None:
                checks.count(getattr(self, which), f"{self.name}({which}=)", least=0)

    def find_spec(self) -> Spec | None:
        return Spec(LEAF, [TensorSpec((), BYTES)])

    def open(self, path: str, context: Context) -> FixedLengthReader:
        return FixedLengthReader(
            open_stream(path, self.compression_type, context),
            context,
            self.buffer_size,
            record=self.record_bytes,
            header=self.header_bytes or 0,
            footer=self.footer_bytes or 0,
        )
