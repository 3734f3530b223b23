"""ArrayRecord files: their records, and the features in them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from penstock.cli.inspecting.findings import FileFound, Finding
from penstock.cli.inspecting.looking import Looking
from penstock.cli.inspecting.profile import Profile
from penstock.cli.inspecting.recognise import Kind
from penstock.cli.inspecting.records import Batch
from penstock.cli.inspecting.tfrecord import KEPT, sample_of
from penstock.cli.inspecting.values import look, show
from penstock.io.formats.array_record import OPTIONS
from penstock.io.formats.optional import optional
from penstock.io.stores.opening import is_local, open_stored
from penstock.kernels.spans import offsets_of

PIECE = 1 << 20
"""About so many bytes of records are at hand at a time."""
ROWS = 1024
CHUNK = re.compile(r"chunk at (\d+)")
"""How the library says where the damage is."""


def inspect(path: str, kind: Kind, looking: Looking) -> Finding:
    """What is in an ArrayRecord file, which the library array_record reads."""
    found = Finding(path, "ArrayRecord", compression=kind.compression)
    if not is_local(path):
        found.error = "the library array_record reads files of this machine alone"
        return found
    library = optional("array_record.python.array_record_module", "arrayrecord")
    with open_stored(path) as stored:
        size = stored.size
    reader = library.ArrayRecordReader(path, OPTIONS)
    if reader.ok():
        _Records(found, reader, looking).look(size)
        reader.close()
    else:
        try:
            reader.close()
        except RuntimeError as error:
            _wrong(found, f"the end, which says where the records are, is damaged or cut off: {error}")
    found.files = [FileFound(path, size, found.records, found.damaged)]
    return found


def _wrong(found: Finding, what: str, record: int | None = None) -> None:
    at = CHUNK.search(what)
    found.wrong(found.path, int(at.group(1)) if at else 0, what, record)


class _Records:
    """One file at work."""

    def __init__(self, found: Finding, reader: Any, looking: Looking) -> None:
        self._found = found
        self._reader = reader
        self._looking = looking
        self._profile = Profile()
        self._samples: list[bytes] = []
        self._sizes: tuple[int, int, int] | None = None
        self._good = 0

    def look(self, size: int) -> None:
        """Look at as many records as the user has asked for."""
        found, every = self._found, int(self._reader.num_records())
        last = every if self._looking.records is None else min(every, self._looking.records)
        found.records, found.whole = last, last == every
        done, step = 0, 1
        while done < last:
            records = self._read(done, min(done + step, last))
            self._take(records, done)
            done = min(done + step, last)
            step = max(1, min(ROWS, PIECE * self._good // max(self._sizes[1], 1))) if self._sizes else 1
            self._looking.progress.step(found.path, size * done // last, size)
        self._finish()

    def _read(self, first: int, last: int) -> list[bytes]:
        """The records that can be read of these."""
        try:
            return list(self._reader.read(first, last))
        except (RuntimeError, ValueError) as error:
            if last - first == 1:
                _wrong(self._found, f"the record cannot be read: {error}", first)
                return []
        return [record for one in range(first, last) for record in self._read(one, one + 1)]

    def _take(self, records: list[bytes], first: int) -> None:
        if not records:
            return
        lengths = np.fromiter(map(len, records), np.int64, len(records))
        smallest, total, largest = self._sizes or (1 << 62, 0, 0)
        self._sizes = (
            min(smallest, int(lengths.min())),
            total + int(lengths.sum()),
            max(largest, int(lengths.max())),
        )
        self._good += len(records)
        self._samples += records[: self._looking.samples - len(self._samples)]
        values = np.frombuffer(b"".join(records), np.uint8)
        starts = np.zeros(len(records), np.int64)
        self._profile.add(Batch(values, offsets_of(lengths), starts, first), lambda *_: None)

    def _finish(self) -> None:
        found, profile = self._found, self._profile
        if self._sizes is None:
            return
        found.record_bytes = (self._sizes[0], self._sizes[1] / self._good, self._sizes[2])
        if profile.with_features > profile.others:
            found.content = "tf.train.SequenceExample" if profile.sequences else "tf.train.Example"
            found.columns = profile.columns()
            found.samples = [sample_of(one) for one in self._samples]
        else:
            found.content = f"records of {look(self._samples) or 'no bytes'}"
            found.samples = [{"record": show(one[:KEPT])} for one in self._samples]
