"""`load`: a dataset that was saved, mapped from its files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.spec import Spec
from penstock.errors import ArgumentError, DataError, StoreError
from penstock.graph import checks
from penstock.graph.fingerprint import UNSEEN
from penstock.graph.op import Op, Traits
from penstock.graph.running import Context, Running
from penstock.io.formats.saved import SavedError
from penstock.io.formats.saved_file import Checked, SavedFile
from penstock.io.formats.saved_gather import Gather
from penstock.io.formats.saved_kept import KeptBuffers
from penstock.io.formats.saved_manifest import COMPLETE, SavedManifest, load_manifest
from penstock.kernels.spans import offsets_of
from penstock.ops.parts.placed import placed
from penstock.ops.parts.saved_files import SavedFiles
from penstock.site import user_site

SHARE = 4
"""Files that are no larger than this part of the budget stay in memory, when rows come by their numbers."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Load(Op):
    """The elements that `save` has written, in their order, also by their numbers."""

    directory: str
    manifest: SavedManifest = field(repr=False)
    verify: bool = True
    checked: Checked = field(default_factory=Checked, repr=False, metadata=UNSEEN)
    """The one mutable thing: what this process has looked at already."""

    name = "load"
    traits = Traits(random_access=True)

    @classmethod
    def of(cls, directory: str, verify: bool) -> Load:
        """The op of a folder. Its manifest is read now: it has the spec and the length."""
        checks.flag(verify, "load(verify=)")
        manifest = load_manifest(Path(directory))
        if manifest is None or manifest.state != COMPLETE:
            what = "has no manifest.json" if manifest is None else "was not saved to its end"
            raise ArgumentError(
                f"load at {user_site()}: expected a folder with a saved dataset, but {directory} {what}. "
                f"Save it with ds.save({directory!r}), which goes on where it was interrupted."
            )
        return cls(directory=directory, manifest=manifest, verify=verify)

    def start(self, context: Context) -> Running:
        return RunningLoad(self.directory, self.manifest, self.checked, context, verify=self.verify)

    def find_spec(self) -> Spec | None:
        return self.manifest.element_spec()

    def find_cardinality(self) -> int:
        return self.manifest.rows

    def sources(self) -> Iterable[str]:
        return [str(Path(self.directory, shard.name)) for shard in self.manifest.shards]

    def __getstate__(self) -> dict[str, Any]:
        # A named tuple's class may be one that was made when it was loaded, which cannot be pickled.
        return {name: value for name, value in vars(self).items() if name != "spec"}


class RunningLoad(Running):
    """Maps one block after another; or copies rows by their numbers."""

    exact = True

    def __init__(
        self,
        directory: str,
        manifest: SavedManifest,
        checked: Checked,
        context: Context,
        *,
        verify: bool,
        remedy: str = "Save it again.",
    ) -> None:
        self._folder = Path(directory)
        self._manifest = manifest
        self._checked = checked
        self._context = context
        self._verify = verify
        self._remedy = remedy
        self._structure = manifest.found_structure()
        self._shard = 0
        self._number = 0  # of the block that comes next
        self._file: SavedFile | None = None
        self._current: Block | None = None  # what is left of the block that was mapped last
        self._row = 0  # of the block that comes next, where it is copied in parts
        self._files: SavedFiles | None = None  # whose rows are gathered
        self._gather: Gather | None = None
        self._reserved = 0
        self.size = manifest.rows
        self.given = 0
        """How many elements have been read in order."""

    def state(self) -> Any:
        row, number = self._row, self._number
        if self._current is not None and self._file is not None:
            number -= 1
            row = int(self._file.index.rows[number]) - self._current.rows
        return {"shard": self._shard, "block": number, "row": row, "given": self.given}

    def restore(self, state: Any) -> None:
        self.given = state["given"]
        self._go_to(state["shard"], state["block"], state["row"])

    def skip(self, rows: int) -> None:
        """Go to the row of that number, before any has been read."""
        self.given = rows
        shards = self._manifest.shards
        while self._shard < len(shards) and shards[self._shard].rows <= rows:
            rows -= shards[self._shard].rows
            self._shard += 1
        if rows:
            self._file = self._opened(self._shard)
            ends = np.cumsum(self._file.index.rows)
            number = int(np.searchsorted(ends, rows, "right"))
            self._go_to(self._shard, number, rows - int(ends[number - 1] if number else 0))

    def _go_to(self, shard: int, number: int, row: int) -> None:
        self._shard, self._number = shard, number
        if not row:
            return
        self._file = self._file or self._opened(self._shard)
        size, count = (int(of[self._number]) for of in (self._file.index.sizes, self._file.index.rows))
        if size <= self._context.block_bytes or count == 1:
            block = self._file.view(self._number)
            self._current = block.slice(row, block.rows)
            self._number += 1
        else:
            self._row = row

    def pull(self, rows: int) -> Block | None:
        while self._current is None:
            if self._shard == len(self._manifest.shards):
                return None
            try:
                block = self._next(rows)
            except SavedError as error:
                raise self._damaged(error) from error
            if block is not None:
                self.given += block.rows
                return block
        block = self._current
        self._current = block.slice(rows, block.rows) if rows < block.rows else None
        block = block.slice(0, min(rows, block.rows))
        self.given += block.rows
        return block

    def _next(self, rows: int) -> Block | None:
        """Map the next block, or copy a part of one that is too large for this run."""
        if self._file is None:
            self._file = self._opened(self._shard)
        file, number = self._file, self._number
        if number == len(file.index.table):
            self._next_shard()
            return None
        count, size = int(file.index.rows[number]), int(file.index.sizes[number])
        if size <= self._context.block_bytes or count == 1:
            self._current = file.view(number)
            self._number += 1
            return None
        stop = min(count, self._row + min(rows, self._context.rows_for(size // count)))
        block = file.part(number, self._row, stop, self._context.empty)
        self._row = stop
        if stop == count:
            self._number, self._row = number + 1, 0
        return block

    def _next_shard(self) -> None:
        file, self._file = self._file, None
        self._shard, self._number, self._row = self._shard + 1, 0, 0
        if file is not None:
            file.close()

    def _damaged(self, error: SavedError) -> DataError:
        """The error for a block, or for a whole file; the next pull goes on after it."""
        path = self._path(self._shard)
        if self._file is None:
            lost = f"the {self._manifest.shards[self._shard].rows} elements of the file are"
            self._next_shard()
        else:
            lost = f"the {int(self._file.index.rows[self._number]) - self._row} elements of the block are"
            self._number, self._row = self._number + 1, 0
        return DataError(
            f"{self._context.where}: {path} at byte {error.offset}: {error}; {lost} passed over. "
            f"{self._remedy}",
            op=self._context.label,
            file=str(path),
            offset=error.offset,
        )

    def gather(self, index: NDArray[np.int64]) -> Block:
        """The rows of these numbers from the first on, a block's worth at most."""
        if self._gather is None:
            self._gather = self._started()
        try:
            return self._gather.gather(index, self._context.block_bytes)
        except SavedError as error:
            raise StoreError(
                f"{self._context.where}: {error.path} at byte {error.offset}: {error}. Elements that are "
                f"read by number, as for a shuffle, cannot go on after it; read in order, they can. "
                f"{self._remedy}",
                file=error.path,
                offset=error.offset,
            ) from error

    def _started(self) -> Gather:
        account, total = self._context.account, self._manifest.bytes
        resident = total <= self._context.ledger.budget // SHARE and account.request(total)
        self._reserved = total if resident else 0
        # Half of that part is left for what must be known of the files; what is resident is all of it.
        kept = KeptBuffers(lambda size: self._request(size, 2 * SHARE))
        self._files = SavedFiles(self._opened, lambda size: resident or self._request(size), self._release)
        firsts = offsets_of(np.array([shard.rows for shard in self._manifest.shards], np.int64))
        return Gather(self._files.get, firsts, self._structure, self._context.empty, kept, resident=resident)

    def _request(self, size: int, share: int = SHARE) -> bool:
        """Reserve room for what is kept in memory of the files, up to one part in `share` of the budget."""
        if self._reserved + size > self._context.ledger.budget // share:
            return False
        granted = self._context.account.request(size)
        self._reserved += size if granted else 0
        return granted

    def _release(self, size: int) -> None:
        size = min(size, self._reserved)
        self._reserved -= size
        self._context.account.release(size)

    def _opened(self, number: int) -> SavedFile:
        path, shard = self._path(number), self._manifest.shards[number]
        with placed(self._context, missing=f" {self._remedy}"):
            file = SavedFile(path, self._structure, self._checked, verify=self._verify)
        if file.rows != shard.rows:
            file.close()
            error = SavedError(f"expected {shard.rows} rows, as the manifest says, got {file.rows}", 0)
            error.path = str(path)
            raise error
        return file

    def _path(self, number: int) -> Path:
        return self._folder / self._manifest.shards[number].name

    def close(self) -> None:
        self._current = None
        for files in (self._file, self._files):
            if files is not None:
                files.close()
        self._file = self._files = self._gather = None
        self._release(self._reserved)
