"""What was found in files: plain data, which is shown as text or as JSON."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

LISTED = 1000
"""So much damage is kept, and the rest counted."""

Pair = tuple[Any, Any]


@dataclass(frozen=True)
class Damage:
    """Something that is wrong with a file."""

    file: str
    offset: int
    """In the file; where it is compressed, in what it unpacks to, unless `what` says otherwise."""
    what: str
    record: int | None = None


@dataclass
class Column:
    """A feature of records, or a column of a table; None is what is not known."""

    name: str
    dtype: str
    part: str = ""
    """Of a SequenceExample: `context` or `sequence`; of an archive of arrays or a table nothing."""
    shape: tuple[int | None, ...] | None = None
    present: int | None = None
    """How many records have it, and not as a null."""
    values: Pair | None = None
    """The fewest and the most values in a record; of a sequence, in one step."""
    steps: Pair | None = None
    range: Pair | None = None
    """The smallest and the largest number."""
    bytes: Pair | None = None
    """The shortest and the longest string, in bytes."""
    looks_like: str = ""

    def same_as(self, other: Column) -> bool:
        """Whether it can be told together with another file's."""
        mine = (self.name, self.dtype, self.part, self.shape)
        return mine == (other.name, other.dtype, other.part, other.shape)

    def add(self, other: Column) -> None:
        """Take in what is known of the same column of another file."""
        if self.present is not None:
            self.present += other.present or 0
        self.values = wider(self.values, other.values)
        self.steps = wider(self.steps, other.steps)
        self.range = wider(self.range, other.range)
        self.bytes = wider(self.bytes, other.bytes)
        if other.looks_like not in self.looks_like:
            self.looks_like = (
                f"{self.looks_like}, {other.looks_like}" if self.looks_like else other.looks_like
            )


@dataclass(frozen=True)
class FileFound:
    """One of the files that are told of together."""

    path: str
    bytes: int
    records: int | None = None
    damaged: int = 0


@dataclass
class Finding:
    """What is in a file, or in several of one kind."""

    path: str
    format: str
    content: str = ""
    """What the records are, where the format does not say."""
    compression: str | None = None
    files: list[FileFound] = field(default_factory=list)
    records: int | None = None
    unit: str = "record"
    whole: bool = True
    """Whether all was looked at."""
    record_bytes: tuple[int, float, int] | None = None
    """The smallest, the mean and the largest."""
    columns: list[Column] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)
    code: str = ""
    samples: list[dict[str, str]] = field(default_factory=list)
    damage: list[Damage] = field(default_factory=list)
    damaged: int = 0
    error: str = ""
    """Why it could not be read at all."""

    @property
    def bytes(self) -> int:
        """The size of the files."""
        return sum(file.bytes for file in self.files)

    @property
    def status(self) -> int:
        """0 where all is well, 1 where damage was found, 2 where nothing could be read."""
        return 2 if self.error else int(self.damaged > 0)

    def wrong(self, file: str, offset: int, what: str, record: int | None = None) -> None:
        """Note damage."""
        self.damaged += 1
        if len(self.damage) < LISTED:
            self.damage.append(Damage(file, offset, what, record))

    def belongs_with(self, other: Finding) -> bool:
        """Whether both can be told as one: the same kind of file with the same columns."""
        mine, its = ((one.format, one.compression, one.content, one.error) for one in (self, other))
        if mine != its or self.error or len(self.columns) != len(other.columns):
            return False
        return all(a.same_as(b) for a, b in zip(self.columns, other.columns, strict=True))

    def add(self, other: Finding, samples: int) -> None:
        """Tell another file's finding with this one."""
        self.record_bytes = _together(self, other)
        self.files += other.files
        if self.records is not None and other.records is not None:
            self.records += other.records
        self.whole = self.whole and other.whole
        for mine, its in zip(self.columns, other.columns, strict=True):
            mine.add(its)
        for key, value in other.details.items():
            both = self.details.get(key)
            if isinstance(value, int) and isinstance(both, int) and not isinstance(value, bool):
                self.details[key] = both + value
            elif isinstance(value, dict) and isinstance(both, dict):
                self.details[key] = dict(Counter(both) + Counter(value))
            elif both != value:
                self.details[key] = "several" if both is not None else value
        self.samples = (self.samples + other.samples)[:samples]
        self.damaged += other.damaged
        self.damage = (self.damage + other.damage)[:LISTED]

    def as_json(self) -> dict[str, Any]:
        """With the keys that `docs/inspect.md` lists."""
        sizes = self.record_bytes
        return {
            "path": self.path,
            "format": self.format,
            "content": self.content or None,
            "compression": self.compression,
            "bytes": self.bytes,
            "records": self.records,
            "whole": self.whole,
            "record_bytes": sizes and {"smallest": sizes[0], "mean": round(sizes[1], 3), "largest": sizes[2]},
            "columns": [_column(column) for column in self.columns],
            "details": self.details,
            "code": self.code or None,
            "samples": self.samples,
            "files": [vars(file) for file in self.files],
            "damaged": self.damaged,
            "damage": [vars(one) for one in self.damage],
            "error": self.error or None,
            "status": self.status,
        }


def _column(column: Column) -> dict[str, Any]:
    said = dict(vars(column), looks_like=column.looks_like or None, part=column.part or None)
    if column.range is not None:
        said["range"] = [_plain(one) for one in column.range]
    return said


def _plain(value: Any) -> Any:
    """A number that JSON has, or its name."""
    return value if not isinstance(value, float) or math.isfinite(value) else str(value)


def wider(mine: Pair | None, other: Pair | None) -> Pair | None:
    """The smallest and the largest of both."""
    if mine is None or other is None:
        return mine or other
    return min(mine[0], other[0]), max(mine[1], other[1])


def _together(mine: Finding, other: Finding) -> tuple[int, float, int] | None:
    a, b = mine.record_bytes, other.record_bytes
    if a is None or b is None:
        return a or b
    n, m = mine.records or 0, other.records or 0
    return min(a[0], b[0]), (a[1] * n + b[1] * m) / max(n + m, 1), max(a[2], b[2])
