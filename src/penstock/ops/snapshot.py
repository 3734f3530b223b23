"""`snapshot`: the first complete pass writes what passes, later ones read it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.blocks.block import Block
from penstock.blocks.spec import Spec
from penstock.errors import ArgumentError, ArgumentTypeError, ElementError
from penstock.graph.fingerprint import UNSEEN, digest_of
from penstock.graph.op import Op
from penstock.graph.running import Context, Running
from penstock.io.formats.saved_file import Checked
from penstock.io.formats.saved_folder import FolderLock, SavedWriter, check_own, remove_files
from penstock.io.formats.saved_manifest import (
    COMPLETE,
    NAME,
    SavedManifest,
    difference,
    load_manifest,
    new_token,
)
from penstock.io.formats.saved_structure import NotSaved
from penstock.io.formats.saved_writer import without_objects
from penstock.io.stores.watched import change, watched
from penstock.memory.locked import read_only
from penstock.ops.load import RunningLoad

BUSY = "passes elements on, as another run writes the snapshot"


@dataclass(frozen=True, eq=False, kw_only=True)
class Snapshot(Op):
    """Reads a complete snapshot of its input where there is one; else writes one."""

    directory: str
    checked: Checked = field(default_factory=Checked, repr=False, metadata=UNSEEN)
    """The one mutable thing: what this process has looked at already."""

    name = "snapshot"
    tuning = frozenset({"directory"})

    def start(self, context: Context) -> Running:
        folder = Path(self.directory)
        found = self._usable(load_manifest(folder))
        if found is None:
            lock = FolderLock.of(folder)
            if lock is None:
                context.note(BUSY)
                return RunningInput(context)
            try:
                found = self._usable(load_manifest(folder))  # another run may just have completed it
                if found is None:
                    return RunningSnapshot(self, context, lock)
            except BaseException:
                lock.close()
                raise
            lock.close()
        return RunningStored(self.directory, found, self.checked, context, verify=True, remedy=self._remedy())

    def _usable(self, manifest: SavedManifest | None) -> SavedManifest | None:
        """A manifest that is complete; `ArgumentError` where the pipeline or a file it reads was another."""
        if manifest is None:
            return None
        differs = difference(digest_of(self.inputs[0]), manifest.pipeline)
        if differs:
            raise ArgumentError(
                self.fail(
                    f"the folder {self.directory} has a snapshot of another pipeline: {differs}. "
                    f"{self._remedy()} Or name another folder."
                )
            )
        if manifest.state != COMPLETE:
            return None
        if changed := change(manifest.sources, watched(self.inputs[0])):
            raise ArgumentError(
                self.fail(
                    f"the folder {self.directory} has a snapshot of files that are not as they were: "
                    f"{changed}. {self._remedy()} Or take it as it is: ps.Dataset.load({self.directory!r})."
                )
            )
        return manifest

    def _remedy(self) -> str:
        return f"Delete the folder {self.directory}, and it will be written again."

    def find_spec(self) -> Spec | None:
        return self.inputs[0].spec

    def find_cardinality(self) -> int:
        return self.inputs[0].cardinality


class RunningStored(RunningLoad):
    """Reads the snapshot, also on from where another run has passed the elements of the input on."""

    def state(self) -> Any:
        return {"given": self.given, "stored": super().state(), "input": None}

    def restore(self, state: Any) -> None:
        if state["stored"] is None:
            self.skip(state["given"])
        else:
            super().restore(state["stored"])


class RunningInput(Running):
    """Passes the elements of the input on."""

    exact = True

    def __init__(self, context: Context) -> None:
        self._upstream = context.input()
        self._given = 0

    def pull(self, rows: int) -> Block | None:
        block = self._upstream.pull(rows)
        self._given += 0 if block is None else block.rows
        return block

    def state(self) -> Any:
        return {"given": self._given, "stored": None, "input": self._upstream.state()}

    def restore(self, state: Any) -> None:
        self._given = state["given"]
        self._upstream.restore(state["input"] or {"skip": self._given})


class RunningSnapshot(Running):
    """Writes what passes; complete when the input ends, and gone if it does not get there."""

    exact = True

    def __init__(self, op: Snapshot, context: Context, lock: FolderLock) -> None:
        self._op = op
        self._context = context
        self._lock = lock
        self._folder = Path(op.directory)
        self._ended = False
        self._given = 0
        self._again = 0  # so many elements are only written: they were handed on before
        check_own(self._folder, load_manifest(self._folder), op.fail("").rstrip(": "))
        remove_files(self._folder, set())
        above = op.inputs[0]
        manifest = SavedManifest(digest_of(above), None, new_token(), watched(above))
        self._writer: SavedWriter | None = None
        try:
            self._writer = SavedWriter(
                self._folder, manifest, op.spec, context.empty, block_bytes=context.block_bytes
            )
            self._upstream = context.input()
        except NotSaved as error:
            raise self._refused(error) from None
        except BaseException:
            self._drop()
            raise

    def state(self) -> Any:
        at = {"given": self._given, "stored": None, "input": self._upstream.state()}
        return {**at, "writes": True} if self._writer is not None else at

    def restore(self, state: Any) -> None:
        self._given = state["given"]
        if state["input"] is None or state.get("writes"):
            # All is made again: later passes are to read the elements of this one, which may be random.
            self._again = self._given
            if self._again:
                self._context.note("goes through its elements again, from the first on: it writes them")
        else:
            self._upstream.restore(state["input"])
            self._context.note(
                "writes no snapshot, because it goes on in the middle of a pass that wrote none"
            )
            self._drop()

    def pull(self, rows: int) -> Block | None:
        while self._again:
            block = self._pull(min(rows, self._again))
            self._again -= self._again if block is None else block.rows
        block = self._pull(rows)
        self._given += 0 if block is None else block.rows
        return block

    def _pull(self, rows: int) -> Block | None:
        if self._ended:
            return None
        try:
            block = self._upstream.pull(rows)
        except ElementError:
            if self._writer is not None:
                self._context.note("writes no snapshot, because elements failed")
                self._drop()
            raise
        if self._writer is None:
            return block
        try:
            if block is None:
                self._ended = True
                self._writer.finish()
                self._writer = None
                self._lock.close()
                return None
            block = read_only(without_objects(block))
            self._writer.add(block)
            return block
        except NotSaved as error:
            raise self._refused(error) from None

    def _refused(self, error: NotSaved) -> ArgumentTypeError:
        self._drop()
        return ArgumentTypeError(self._op.fail(f"{error}."))

    def _drop(self) -> None:
        """Leave no part of a snapshot behind."""
        writer, self._writer = self._writer, None
        try:
            if writer is not None:
                writer.discard()
            remove_files(self._folder, set())
            (self._folder / NAME).unlink(missing_ok=True)
        finally:
            self._lock.close()

    def close(self) -> None:
        if self._writer is not None:
            self._drop()
        self._lock.close()
