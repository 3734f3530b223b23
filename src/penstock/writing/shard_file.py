"""One file of records on its way: framed, packed, summed up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.columns import BytesColumn
from penstock.io.stores.writing import open_for_writing
from penstock.kernels.crc32c_after import crc32c_after
from penstock.kernels.frames import frame, head_and_foot
from penstock.writing.manifest import Shard
from penstock.writing.packing import Packing, Put

FRAMES = 256 << 10
"""So many bytes of frames are made at a time."""


class ShardFile:
    """Nobody sees the file before `commit`; `discard` leaves nothing of it."""

    def __init__(
        self, folder: Path, name: str, packing: Callable[[Put], Packing], frames: NDArray[np.uint8]
    ) -> None:
        self._name = name
        self._frames = frames
        self._file = open_for_writing(str(folder / name))
        self._records = self._bytes = self._sum = 0
        try:
            self._packing = packing(self._put)
        except BaseException:
            self.discard()
            raise

    def write(self, records: BytesColumn) -> None:
        """Add these records."""
        values, offsets = np.ascontiguousarray(records.values), np.ascontiguousarray(records.offsets)
        row = 0
        while row < records.rows:
            row, end = frame(values, offsets, row, self._frames, 0)
            if end:
                self._packing.feed(self._frames[:end].data)
            else:  # a record that is larger than the buffer
                record = values[offsets[row] : offsets[row + 1]].data
                head, foot = head_and_foot(record)
                for part in (head, record, foot):
                    self._packing.feed(memoryview(part))
                row += 1
        self._records += records.rows

    def end(self) -> Shard:
        """Put what is left; what the manifest will say of the file."""
        self._packing.end()
        return Shard(self._name, self._records, self._bytes, f"{self._sum:08x}")

    def commit(self) -> None:
        """Publish it."""
        self._file.commit()

    def discard(self) -> None:
        """Drop it. May be called more than once, and after `commit`."""
        self._file.discard()

    def _put(self, data: bytes | memoryview) -> None:
        for start in range(0, len(data), FRAMES):  # as a record may be large, and the sum copies
            self._sum = crc32c_after(self._sum, data[start : start + FRAMES])
        self._file.write(data)
        self._bytes += len(data)
