"""`TFRecordDataset`: the records of TFRecord files."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.spec import BYTES, Spec, TensorSpec
from penstock.blocks.structure import LEAF
from penstock.graph.op import UNKNOWN, Traits
from penstock.graph.running import Context, Running
from penstock.io.formats.tfrecord import TFRecordReader
from penstock.io.formats.tfrecord_rows import IndexedRecords
from penstock.io.stores.decompress import open_stream
from penstock.io.stores.remote import is_address
from penstock.ops.parts.files import FilesOp, RunningFiles
from penstock.ops.parts.placed import placed


@dataclass(frozen=True, eq=False, kw_only=True)
class TFRecords(FilesOp):
    """The records of all files, as `bytes`.

    Files of this machine that are not compressed have random access, through an index that is kept beside
    each. A shuffle of the whole makes the index where there is none, and marks it as verified where it has
    read every record of the file and none failed. `skip` and `shard` use indexes that are verified, and no
    others: what they leave out would not fail, so the stream is the same without an index. The length stays
    unknown even then: a dataset opens nothing before it is iterated.
    """

    indexed: bool = field(default=False, repr=False, metadata={"fingerprint": False})
    """Rows will be gathered: an index is made for files that have none."""

    name = "TFRecordDataset"

    def __post_init__(self) -> None:
        super().__post_init__()
        plain = not self.compression_type and not self.inputs and not any(map(is_address, self.filenames))
        object.__setattr__(self, "traits", Traits(random_access=plain, costly_access=plain))

    @property
    def only_reads(self) -> bool:
        return not self.inputs and not any(map(is_address, self.filenames))

    def with_random_access(self) -> TFRecords:
        indexed = copy.copy(self)  # and not `replace`, which would check all arguments again
        object.__setattr__(indexed, "indexed", True)
        return indexed

    def start(self, context: Context) -> Running:
        return RunningRecords(self, context)

    def find_spec(self) -> Spec | None:
        return Spec(LEAF, [TensorSpec((), BYTES)])

    def open(self, path: str, context: Context) -> TFRecordReader:
        stream = open_stream(path, self.compression_type, context)
        wanted = context.block_bytes if self.buffer_size is None else self.buffer_size
        return TFRecordReader(stream, self.compression_type, context, wanted)


class RunningRecords(Running):
    """Reads one file after another; or rows by their numbers, if the files have an index."""

    exact = True

    def __init__(self, op: TFRecords, context: Context) -> None:
        self._op = op
        self._context = context
        self._files = RunningFiles(op, context)
        self._rows: IndexedRecords | None = None
        self._looked = False

    def pull(self, rows: int) -> Block | None:
        return self._files.pull(rows)

    def state(self) -> Any:
        return self._files.state()

    def restore(self, state: Any) -> None:
        self._files.restore(state)

    @property
    def size(self) -> int:
        """How many rows can be gathered; `UNKNOWN` where an index is missing, and none is to be made.

        So it is where an index is not verified, and not all rows will be gathered.
        """
        if not self._looked:
            self._looked = True
            with placed(self._context):
                self._rows = IndexedRecords.of(self._op.filenames, self._context, made=self._op.indexed)
        return UNKNOWN if self._rows is None else self._rows.size

    def gather(self, index: NDArray[np.int64]) -> Block:
        """The rows of these numbers, from the first on."""
        assert self._rows is not None
        with placed(self._context):
            return self._rows.gather(index)

    def close(self) -> None:
        self._files.close()
        rows, self._rows = self._rows, None
        if rows is not None:
            rows.close()
