"""`write_tfrecord`: a dataset in TFRecord files, with a manifest, to be gone on with after any end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

from penstock.blocks.block import Block
from penstock.blocks.build import column_of
from penstock.blocks.columns import BytesColumn
from penstock.blocks.spec import BYTES, TensorSpec
from penstock.engine.cores import usable_cores
from penstock.engine.run import Run
from penstock.errors import ArgumentError, ElementError, StoreError
from penstock.graph.op import AUTOTUNE, Op
from penstock.graph.passes import plan_of
from penstock.io.stores.watched import change, paths_of, present
from penstock.io.stores.writing import BUFFER
from penstock.memory.shared import Budget
from penstock.ops.map import Map
from penstock.ops.prefetch import Prefetch
from penstock.options import Options
from penstock.site import user_site
from penstock.writing.behind import behind
from penstock.writing.folder import check_not_read, is_whole, remove_leftovers, shards_in, writing_in
from penstock.writing.manifest import COMPLETE, NAME, Manifest, load_manifest
from penstock.writing.observe import Observe, Observed, check_elements, record_of
from penstock.writing.packing import KINDS, WORKING, Packing, Plain, Put
from penstock.writing.progress import Progress
from penstock.writing.shard_file import FRAMES
from penstock.writing.shards import Shards
from penstock.writing.written import Written

RECORD = TensorSpec((), BYTES)
"""An element that needs nothing to be written."""
SHARE = 8
"""One part in so many of the budget may be pieces that are being compressed."""

Fill = Callable[["Writing", Manifest, set[int], bool], Manifest]
"""Writes the shards that the manifest lacks, and those of some numbers; given whether it is a new one."""


@dataclass(frozen=True)
class Writing:
    """One call: what is written, and where to."""

    op: Op
    options: Options
    budget: Budget
    folder: Path
    wanted: Manifest
    overwrite: bool
    fill: Fill | None = None
    """Who writes the shards that are not there, if not this process alone."""

    def __post_init__(self) -> None:
        if self.op.spec is not None:
            check_elements(self.op.spec, f"write_tfrecord at {user_site()}")

    def run(self) -> Written:
        """Write what is not there yet."""
        began = perf_counter()
        with writing_in(self.folder):
            manifest, fresh = self._prepared()
            bad = {i for i, shard in enumerate(manifest.shards) if not is_whole(self.folder, shard)}
            if manifest.state != COMPLETE or bad:
                fill = self.fill or Writing._filled
                manifest = fill(self, manifest, bad, fresh)
        return Written(
            directory=str(self.folder),
            shards=tuple(str(self.folder / shard.name) for shard in manifest.shards),
            elements=manifest.elements,
            bytes=manifest.bytes,
            seconds=perf_counter() - began,
        )

    def _prepared(self) -> tuple[Manifest, bool]:
        """The manifest to go on with: that of the same call before, or a new one; and whether it is new."""
        if self.overwrite:
            call = f"write_tfrecord(directory=) at {user_site()}"
            check_not_read(shards_in(self.folder), paths_of(self.op), call)
        manifest = None if self.overwrite else load_manifest(self.folder)
        if manifest is None:
            found = [] if self.overwrite else shards_in(self.folder)
            if found:
                raise ArgumentError(
                    f"write_tfrecord(directory=) at {user_site()}: expected a folder to write to, but "
                    f"{self.folder} has {found[0].name}, without a {NAME}. Write elsewhere, or start anew "
                    f"with overwrite=True, which removes such files."
                )
            return self.wanted, True
        if differs := self.wanted.difference(manifest):
            if not manifest.shards:
                return self.wanted, True  # nothing is there that could be lost
            raise ArgumentError(
                f"write_tfrecord(directory=) at {user_site()}: expected an empty folder, or one that the "
                f"same call has written to, but {self.folder} has another data set: {differs}. "
                f"Write elsewhere, or start anew with overwrite=True."
            )
        changed = change(manifest.sources, self.wanted.sources)
        if changed and not manifest.shards:
            return self.wanted, True
        if changed:
            raise ArgumentError(
                f"write_tfrecord(directory=) at {user_site()}: expected the files that {self.folder} was "
                f"written from, but {changed}. Say overwrite=True to write it anew, or write elsewhere."
            )
        manifest = replace(manifest, sources=manifest.sources | present(self.wanted.sources))
        remove_leftovers(self.folder, {shard.name for shard in manifest.shards})
        return manifest, False

    def _filled(self, manifest: Manifest, bad: set[int], fresh: bool) -> Manifest:
        with ExitStack() as stack:
            publisher = stack.enter_context(ThreadPoolExecutor(1, "penstock-publish"))
            packers = stack.enter_context(ThreadPoolExecutor(usable_cores(), "penstock-pack"))
            most = 1

            def packing(put: Put) -> Packing:
                if manifest.compression is None:
                    return Plain(put)
                return KINDS[manifest.compression](put, packers, most)

            shards = Shards(self.folder, manifest, bad, fresh, packing, publisher)
            run = self._started(shards, manifest)
            stack.callback(run.close)
            most = _pieces_at_once(run, manifest)
            with _cleaned(shards):
                self._write(run, shards)
        return shards.manifest

    def _started(self, shards: Shards, manifest: Manifest) -> Run:
        op = behind(self.op, shards.before)
        if op.spec is None or op.spec.nest() != RECORD:
            observed = Observed(manifest.features)
            shards.features = observed.features
            op = Observe(inputs=(op,), observed=observed).named("write_tfrecord")
            op = Map(inputs=(op,), function=record_of, num_parallel_calls=AUTOTUNE).named("serialize_example")
        op = Prefetch(inputs=(op,), buffer_size=AUTOTUNE)
        plan = plan_of(op, self.options, self.budget.total)
        return Run(plan, self.budget, seed=self.wanted.seed, epoch=0)

    def _write(self, run: Run, shards: Shards) -> None:
        done = shards.before
        progress = Progress(self.op.cardinality if self.op.cardinality >= 0 else None, done)
        try:
            while not shards.done:
                block = run.next_block()
                if block is None:
                    shards.end()
                    return
                rows = block.rows
                for taken in shards.take(records_of(block)):
                    progress.tell(shards.number, done + taken, shards.written)
                done += rows
                del block  # its memory is free for the next one
        finally:
            progress.end()


def records_of(block: Block) -> BytesColumn:
    """The records of a block of them."""
    column = block.columns[0]
    if not isinstance(column, BytesColumn):
        column = column_of(list(column.items()))
        assert isinstance(column, BytesColumn)
    return column


def _pieces_at_once(run: Run, manifest: Manifest) -> int:
    """How many pieces may be on their way to be compressed; what the writing holds goes on the ledger."""
    account = run.ledger.account("files")
    account.request(FRAMES + BUFFER)
    if manifest.compression is None:
        return 0
    account.request(WORKING)
    most = 1
    while most < min(usable_cores() + 1, run.ledger.budget // SHARE // WORKING) and account.request(WORKING):
        most += 1
    return most


@contextmanager
def _cleaned(shards: Shards) -> Iterator[None]:
    """Leave nothing half done, whatever happens, and say how to go on."""
    try:
        yield
        shards.wait()
    except BaseException as error:
        shards.discard()
        with suppress(StoreError):  # one is enough
            shards.wait()
        if isinstance(error, StoreError | ElementError):
            count = len(shards.manifest.shards)
            error.add_note(f"{count} shards are complete; the same call goes on after them.")
        raise
