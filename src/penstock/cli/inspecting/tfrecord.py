"""TFRecord files: their records, their checksums, and the features in them."""

from __future__ import annotations

from penstock.cli.inspecting.code import opening_code, parsing_code
from penstock.cli.inspecting.findings import FileFound, Finding
from penstock.cli.inspecting.looking import Looking, open_bytes
from penstock.cli.inspecting.profile import Profile
from penstock.cli.inspecting.records import Batch, Records
from penstock.cli.inspecting.values import look, show
from penstock.kernels.example_entries import FEATURE, STEP, Entry, plain_entries

KEPT = 1 << 16
"""A record of a sample that is no Example is kept up to so many bytes."""


class TFRecords:
    """Some files at work, told of together."""

    def __init__(self, path: str, looking: Looking) -> None:
        self.found = Finding(path, "TFRecord")
        self._looking = looking
        self._profile = Profile()
        self._samples: list[bytes] = []
        self._not_examples: list[tuple[str, int, str, int]] = []
        self._right = self._total = self._largest = 0
        self._smallest = 1 << 62

    def add(self, path: str, compression: str | None) -> None:
        """Look at one more file."""
        found, before = self.found, self.found.damaged
        others = self._profile.others
        stream = open_bytes(path, compression, self._looking.progress)
        size = stream.stored.size
        try:
            records = Records(stream, compression, lambda *what: found.wrong(path, *what))
            for batch in records.batches(self._looking.records):
                self._take(path, batch)
        finally:
            stream.close()
        found.whole = found.whole and records.whole
        if not found.files:
            found.compression = compression
        elif found.compression != compression:
            found.details["compressions"] = "several"
        damaged = found.damaged - before + (self._profile.others - others) * self._are_examples
        found.files.append(FileFound(path, size, records.count, damaged))

    def _take(self, path: str, batch: Batch) -> None:
        lengths = batch.offsets[1:] - batch.offsets[:-1]
        self._right += len(lengths)
        self._total += int(lengths.sum())
        self._smallest = min(self._smallest, int(lengths.min()))
        self._largest = max(self._largest, int(lengths.max()))
        for row in range(min(len(lengths), self._looking.samples - len(self._samples))):
            begin, end = batch.offsets[row : row + 2].tolist()
            self._samples.append(batch.values[begin:end].tobytes())

        def wrong(row: int, byte: int, why: str) -> None:
            if len(self._not_examples) < 1000:
                start = int(batch.starts[row])
                what = f"the record is no tf.train.Example: at its byte {byte:,}, {why}"
                self._not_examples.append((path, start, what, batch.first + row))

        self._profile.add(batch, wrong)

    @property
    def _are_examples(self) -> bool:
        """Whether the records are Examples, as a whole; those without a feature could be anything."""
        return self._profile.with_features > self._profile.others

    def finding(self) -> Finding:
        """What was found in all of them."""
        found, profile = self.found, self._profile
        found.records = sum(file.records or 0 for file in found.files)
        if self._right:
            found.record_bytes = (self._smallest, self._total / self._right, self._largest)
        found.details["checksums"] = "both right in every record" if not found.damaged else "see damage"
        if self._are_examples:
            found.content = "tf.train.SequenceExample" if profile.sequences else "tf.train.Example"
            for file, offset, what, record in self._not_examples:
                found.wrong(file, offset, what, record)
            found.damaged += profile.others - len(self._not_examples)
            found.columns = profile.columns()
            if profile.more_names:
                found.details["more_features"] = f"only the first {len(found.columns):,} are told apart"
            opening = opening_code([file.path for file in found.files], found.compression)
            found.code = parsing_code(found.columns, profile.examples, opening, whole=found.whole)
            found.samples = [sample_of(one) for one in self._samples]
        elif self._right:
            found.content = f"records of {look(self._samples) or 'no bytes'}"
            found.samples = [{"record": show(one[:KEPT])} for one in self._samples]
        return found


def sample_of(record: bytes) -> dict[str, str]:
    """The text that stands for each value of an Example."""
    try:
        entries = plain_entries(record)
    except ValueError:
        return {"record": show(record)}
    return {name: show(value) for name, value in _values(entries).items()}


def _values(entries: list[Entry]) -> dict[str, object]:
    """The values by name, a single one by itself; of a list, one list a step."""
    found: dict[str, object] = {}
    for part, raw, _, values in sorted(entries, key=lambda one: one[1]):
        name = raw.decode(errors="backslashreplace")
        if part == FEATURE:
            found[name] = values[0] if len(values) == 1 else values
        elif part == STEP:
            steps = found.setdefault(name, [])
            assert isinstance(steps, list)
            steps.append(values[0] if len(values) == 1 else values)
    return found
