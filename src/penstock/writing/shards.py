"""Records in order become files, each published when it is complete."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.columns import BytesColumn
from penstock.errors import CardinalityError, StoreError
from penstock.kernels.frames import FOOT, HEAD
from penstock.writing.folder import remove_leftovers
from penstock.writing.manifest import COMPLETE, Feature, Manifest, Shard
from penstock.writing.packing import Packing, Put
from penstock.writing.shard_file import FRAMES, ShardFile


class Shards:
    """Cuts the records of a data set, from those of the first file that is to be written on.

    Files that are whole are passed over. A file is published by another thread, while the next one is
    being written; one after another, so that the manifest is never ahead of them.
    """

    def __init__(
        self,
        folder: Path,
        manifest: Manifest,
        bad: set[int],
        fresh: bool,
        packing: Callable[[Put], Packing],
        aside: Executor,
    ) -> None:
        self.manifest = manifest
        self.features: Callable[[], dict[str, Feature] | None] = lambda: manifest.features
        """What the elements so far have in common."""
        self._folder = folder
        self._known = manifest.shards
        self._bad = bad
        self._fresh = fresh  # the manifest is not written yet
        self._packing = packing
        self._aside = aside
        self._published: Future[None] | None = None
        self._frames: NDArray[np.uint8] = np.empty(FRAMES, np.uint8)
        self._number = min(bad, default=len(self._known))
        self._file: ShardFile | None = None
        self._rows = self._bytes = 0
        self.written = 0
        """The bytes of records that this run has written."""

    @property
    def before(self) -> int:
        """How many elements are in the files before the one that is being written."""
        return sum(shard.records for shard in self._known[: self._number]) + sum(
            self.manifest.layout.quota(number) or 0 for number in range(len(self._known), self._number)
        )

    @property
    def number(self) -> int:
        """Which file is being written."""
        return self._number

    @property
    def done(self) -> bool:
        """Whether no more records are needed, as only files in the middle were damaged."""
        return self.manifest.state == COMPLETE and self._number > max(self._bad, default=-1)

    def take(self, records: BytesColumn) -> Iterator[int]:
        """Write these records; says now and then how many of them are done."""
        sizes = np.diff(records.offsets) + (HEAD + FOOT)
        row = 0
        while row < records.rows and not self.done:
            self._check_number()
            count = self._fitting(sizes[row:])
            if count:
                if self._to_write():
                    self._open().write(records.slice(row, row + count))
                self._rows += count
                size = int(sizes[row : row + count].sum())
                self._bytes += size
                self.written += size
                row += count
            if self._rows == self._quota() or (self._quota() is None and row < records.rows):
                self._finish()
            yield row

    def end(self) -> None:
        """There are no more records: the data set is complete."""
        self._begin()
        count = self.manifest.layout.shards
        while self._number < (count or len(self._known)):
            if self._rows != self._quota():
                raise self._too_few()
            self._finish()
        if self._rows:
            self._finish()
        self.wait()
        manifest = replace(self.manifest, state=COMPLETE, features=self.features())
        manifest.save(self._folder)
        self.manifest = manifest

    def wait(self) -> None:
        """Wait for the file that is being published; its error is raised here."""
        published, self._published = self._published, None
        if published is not None:
            published.result()

    def discard(self) -> None:
        """Drop the file that is being written."""
        if self._file is not None:
            self._file.discard()

    def _to_write(self) -> bool:
        return self._number >= len(self._known) or self._number in self._bad

    def _begin(self) -> None:
        """Write the manifest, and remove what was there before it; not before the first record is here."""
        if self._fresh:
            self.manifest.save(self._folder)
            remove_leftovers(self._folder, set())
            self._fresh = False

    def _open(self) -> ShardFile:
        if self._file is None:
            self._begin()
            name = self.manifest.layout.name(self._number)
            self._file = ShardFile(self._folder, name, self._packing, self._frames)
        return self._file

    def _quota(self) -> int | None:
        if self._number < len(self._known):
            return self._known[self._number].records
        return self.manifest.layout.quota(self._number)

    def _fitting(self, sizes: NDArray[np.int64]) -> int:
        quota = self._quota()
        if quota is None:
            return self.manifest.layout.fitting(self._bytes, sizes)
        return min(quota - self._rows, len(sizes))

    def _finish(self) -> None:
        if self._to_write():
            file, number = self._open(), self._number
            shard = file.end()
            if number < len(self._known) and shard != self._known[number]:
                raise self._other(f"{shard.name} came out otherwise")
            self.wait()
            self._file = None
            features = self.features()
            self._published = self._aside.submit(self._publish, number, file, shard, features)
        self._number += 1
        self._rows = self._bytes = 0

    def _publish(
        self, number: int, file: ShardFile, shard: Shard, features: dict[str, Feature] | None
    ) -> None:
        file.commit()
        manifest = replace(self.manifest.with_shard(number, shard), features=features)
        manifest.save(self._folder)
        self.manifest = manifest

    def _check_number(self) -> None:
        layout = self.manifest.layout
        if layout.shards is not None and self._number >= layout.shards:
            raise CardinalityError(
                f"{self._folder}: expected {layout.length} elements, as the dataset says of itself, "
                f"got more. Say the length that it has: ds.apply(ps.assert_cardinality(n))."
            )

    def _too_few(self) -> Exception:
        if self._number < len(self._known):
            return self._other("there are fewer elements")
        return CardinalityError(
            f"{self._folder}: expected {self.manifest.layout.length} elements, as the dataset says of "
            f"itself, got {self.before + self._rows}. Say the length that it has: "
            f"ds.apply(ps.assert_cardinality(n))."
        )

    def _other(self, what: str) -> StoreError:
        return StoreError(
            f"{self._folder}: expected the same elements as in the run before, to put right what is damaged, "
            f"but {what}. The pipeline, or what it reads, gives something else each time. "
            f"Start anew with overwrite=True.",
            file=str(self._folder),
        )
