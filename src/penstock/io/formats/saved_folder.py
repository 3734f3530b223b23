"""The folder of a saved dataset: one writer at a time, its files, and what others have left."""

from __future__ import annotations

import errno
import os
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from penstock.blocks.block import Block
from penstock.blocks.spec import Spec
from penstock.errors import ArgumentError, StoreError
from penstock.io.formats.saved_manifest import COMPLETE, NAME, SavedManifest
from penstock.io.formats.saved_structure import NotSaved, no_objects
from penstock.io.formats.saved_writer import Blocks, ShardWriter
from penstock.kernels.spans import Empty

SHARD_BYTES = 256 << 20
"""About so many bytes make a file."""
OURS = re.compile(
    rf"saved-[0-9a-f]{{8}}-\d{{5,}}\.blocks|\.(saved-[0-9a-f]{{8}}-\d{{5,}}\.blocks|{NAME})\.[0-9a-f]{{8}}\.part"
)
"""The names of the files, and of those that a writer has not completed."""


class FolderLock:
    """Keeps other writers out of a folder until `close`, or until the process is gone."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    @classmethod
    def of(cls, folder: Path) -> FolderLock | None:
        """The lock of a folder, which is made where there is none; None where another writer has it."""
        import fcntl  # there is none on Windows

        try:
            folder.mkdir(parents=True, exist_ok=True)
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise StoreError.of(error, str(folder)) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno == errno.EWOULDBLOCK:
                os.close(handle)
                return None
            # A file system without locks: then nobody can be kept away.
        return cls(handle)

    def close(self) -> None:
        """Let others in. May be called more than once."""
        import fcntl

        handle, self._handle = self._handle, -1
        if handle >= 0:
            with suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_UN)  # a child may have the descriptor too
            os.close(handle)


def check_own(folder: Path, manifest: SavedManifest | None, call: str) -> None:
    """`ArgumentError` where a folder has files that are not those of a saved dataset."""
    others = [path.name for path in folder.iterdir() if path.name != NAME and not OURS.fullmatch(path.name)]
    if manifest is None and others:
        raise ArgumentError(
            f"{call}: expected an empty folder, or one with a saved dataset, but {folder} has "
            f"{min(others)!r}. Name another folder."
        )


def remove_files(folder: Path, kept: set[str]) -> None:
    """Remove the files of saved datasets there that are not to be kept."""
    try:
        for path in saved_in(folder):
            if path.name not in kept:
                path.unlink()
    except OSError as error:
        raise StoreError.of(error, str(folder)) from error


def saved_in(folder: Path) -> list[Path]:
    """The files there that are called as those of saved datasets are."""
    return [path for path in folder.iterdir() if OURS.fullmatch(path.name)]


class SavedWriter:
    """Writes blocks to the files of a folder, from the first that is not complete on.

    Each file is there when it is complete, and then the manifest says so. `spec` is what is known of the
    elements; where that is nothing, they tell themselves.
    """

    def __init__(
        self,
        folder: Path,
        manifest: SavedManifest,
        spec: Spec | None,
        empty: Empty,
        *,
        block_bytes: int,
        shard_bytes: int = SHARD_BYTES,
    ) -> None:
        self.manifest = manifest
        self._folder = folder
        self._shard_bytes = shard_bytes
        self._blocks = Blocks(self._put, empty, min(block_bytes, shard_bytes))
        self._file: ShardWriter | None = None
        self._declared = spec
        self._seen = manifest.element_spec()
        if spec is not None:
            self.manifest = manifest.with_elements(spec)
        self.manifest.save(folder)

    @property
    def written(self) -> int:
        """The bytes of all files so far."""
        return self.manifest.bytes + (0 if self._file is None else self._file.bytes)

    def add(self, block: Block) -> None:
        """Write more rows; `NotSaved` where they cannot be written."""
        self._blocks.add(block)

    def finish(self) -> SavedManifest:
        """All rows have come: publish what is on its way, and say that it is complete."""
        self._blocks.flush()
        self._end_shard()
        self.manifest = replace(self.manifest, state=COMPLETE)
        self.manifest.save(self._folder)
        return self.manifest

    def discard(self) -> None:
        """Drop the file that is on its way. May be called more than once."""
        self._blocks.clear()
        file, self._file = self._file, None
        if file is not None:
            file.discard()

    def _put(self, block: Block) -> None:
        if self._declared is None:
            self._see(block)
        if self._file is None:
            self._file = ShardWriter(self._folder, self.manifest.name(len(self.manifest.shards)))
        self._file.add(block)
        if self._file.bytes >= self._shard_bytes:
            self._end_shard()

    def _see(self, block: Block) -> None:
        """Widen what is known of the elements to cover these."""
        came = block.spec()
        if self._seen is not None:
            leaves = []
            for mine, its in zip(self._seen.leaves, came.leaves, strict=True):
                common = mine.common(its)
                if common is None:
                    raise NotSaved(no_objects("element", f"values of several types, {mine} and {its}"))
                leaves.append(common)
            came = Spec(came.structure, leaves)
        self._seen = came

    def _end_shard(self) -> None:
        if self._file is None:
            return
        shard = self._file.finish()
        self._file = None
        if self._declared is None and self._seen is not None:
            self.manifest = self.manifest.with_elements(self._seen)
        self.manifest = replace(self.manifest, shards=(*self.manifest.shards, shard))
        self.manifest.save(self._folder)
