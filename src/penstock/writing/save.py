"""`save`: a dataset in Penstock's own files, to be gone on with after any end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

import numpy as np

from penstock.engine.run import Run
from penstock.errors import ArgumentError, ArgumentTypeError, ElementError, StoreError
from penstock.graph.op import AUTOTUNE, Op
from penstock.graph.passes import plan_of
from penstock.io.formats.saved_folder import SavedWriter, check_own, remove_files, saved_in
from penstock.io.formats.saved_manifest import COMPLETE, SavedManifest, difference, load_manifest
from penstock.io.formats.saved_structure import NotSaved
from penstock.io.stores.watched import change, paths_of, present
from penstock.io.stores.writing import BUFFER
from penstock.memory.shared import Budget
from penstock.ops.prefetch import Prefetch
from penstock.options import Options
from penstock.site import user_site
from penstock.writing.behind import behind
from penstock.writing.folder import check_not_read, writing_in
from penstock.writing.progress import Progress
from penstock.writing.written import Written


@dataclass(frozen=True)
class Saving:
    """One call: what is saved, and where to."""

    op: Op
    options: Options
    budget: Budget
    folder: Path
    wanted: SavedManifest
    shard_bytes: int
    overwrite: bool

    def run(self) -> Written:
        """Write what is not there yet."""
        began = perf_counter()
        with writing_in(self.folder):
            manifest = self._prepared()
            if manifest.state != COMPLETE:
                manifest = self._filled(manifest)
        return Written(
            directory=str(self.folder),
            shards=tuple(str(self.folder / shard.name) for shard in manifest.shards),
            elements=manifest.rows,
            bytes=manifest.bytes,
            seconds=perf_counter() - began,
        )

    def _prepared(self) -> SavedManifest:
        """The manifest to go on with: that of the same call before, or a new one."""
        call = f"save(directory=) at {user_site()}"
        manifest = load_manifest(self.folder)
        check_own(self.folder, manifest, call)
        if self.overwrite:
            check_not_read(saved_in(self.folder), paths_of(self.op), call)
        if manifest is None or self.overwrite:
            manifest = self.wanted
        else:
            differs = difference(self.wanted.pipeline, manifest.pipeline)
            if not differs and manifest.seed != self.wanted.seed:
                differs = (
                    f"it was written with the seed {manifest.seed}, and this call has {self.wanted.seed}"
                )
            if differs:
                raise ArgumentError(
                    f"{call}: expected an empty folder, or one that the same call has written to, but "
                    f"{self.folder} has another dataset: {differs}. Save elsewhere, or start anew with "
                    f"overwrite=True."
                )
            manifest = self._whole(self._unchanged(manifest, call))
        remove_files(self.folder, {shard.name for shard in manifest.shards})
        return manifest

    def _unchanged(self, manifest: SavedManifest, call: str) -> SavedManifest:
        """The same manifest, if the files that the pipeline reads are those that it was written from."""
        changed = change(manifest.sources, self.wanted.sources)
        if changed and not manifest.shards:
            return self.wanted  # nothing is there that could be lost
        if changed:
            raise ArgumentError(
                f"{call}: expected the files that {self.folder} was saved from, but {changed}. Say "
                f"overwrite=True to save it anew, or save elsewhere."
            )
        return replace(manifest, sources=manifest.sources | present(self.wanted.sources))

    def _whole(self, manifest: SavedManifest) -> SavedManifest:
        """The same manifest, if its files are there and have the size that it says."""
        for shard in manifest.shards:
            path = self.folder / shard.name
            if not path.is_file() or path.stat().st_size != shard.bytes:
                raise StoreError(
                    f"{path}: expected the {shard.bytes} bytes of a file that was complete, but it is not as "
                    f"it was. Start anew with overwrite=True.",
                    file=str(path),
                )
        return manifest

    def _filled(self, manifest: SavedManifest) -> SavedManifest:
        try:
            # The pipeline runs on a thread of its own, while this one sums and writes.
            op = Prefetch(inputs=(behind(self.op, manifest.rows),), buffer_size=AUTOTUNE)
            plan = plan_of(op, self.options, self.budget.total)
            writer = SavedWriter(
                self.folder,
                manifest,
                self.op.spec,
                np.empty,
                block_bytes=plan.block_bytes,
                shard_bytes=self.shard_bytes,
            )
        except NotSaved as error:
            raise ArgumentTypeError(f"save at {user_site()}: {error}.") from None
        run = Run(plan, self.budget, seed=self.wanted.seed, epoch=0)
        try:
            run.ledger.account("files").request(BUFFER + 2 * plan.block_bytes)
            return self._write(run, writer)
        except NotSaved as error:
            raise ArgumentTypeError(f"save at {user_site()}: {error}.") from None
        except (StoreError, ElementError) as error:
            count = len(writer.manifest.shards)
            error.add_note(f"{count} shards are complete; the same call goes on after them.")
            raise
        finally:
            writer.discard()
            run.close()

    def _write(self, run: Run, writer: SavedWriter) -> SavedManifest:
        done = writer.manifest.rows
        progress = Progress(self.op.cardinality if self.op.cardinality >= 0 else None, done)
        before = writer.written
        try:
            while (block := run.next_block()) is not None:
                writer.add(block)
                done += block.rows
                del block  # its memory is free for the next one
                progress.tell(len(writer.manifest.shards), done, writer.written - before)
            return writer.finish()
        finally:
            progress.end()
