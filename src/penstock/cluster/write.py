"""`write_tfrecord(engine="ray")`: the shards of a data set, written by the tasks of a Ray cluster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from penstock.cluster.connection import check_engine, connected
from penstock.cluster.travel import Lacking, Shipment
from penstock.cluster.write_task import WriteJob, Wrote, write_shards
from penstock.engine.processes.travel import Sent
from penstock.errors import ArgumentError, PenstockError, StoreError
from penstock.graph.running import Pipeline
from penstock.site import user_site
from penstock.writing.call import write_tfrecord
from penstock.writing.folder import is_whole, remove_leftovers
from penstock.writing.manifest import COMPLETE, Manifest
from penstock.writing.observe import Observed
from penstock.writing.progress import Progress
from penstock.writing.tfrecord import Writing
from penstock.writing.written import Written

RUNS = 4
"""About so many runs of shards a worker: each reads past what is before it, and few is even less even."""
RETRIES = 8
"""So often Ray does a task again whose worker was lost."""


def write_by(engine: Any, pipeline: Pipeline, directory: Any, **how: Any) -> Written:
    """Write a dataset with the help of a cluster."""
    check_engine(engine, "write_tfrecord(engine=)")
    if how["shards"] is None:
        raise ArgumentError(
            f"write_tfrecord(engine={engine!r}) at {user_site()}: expected shards=, the number of files, as "
            f"it must be known where each begins before they are written side by side. Say shards=, and if "
            f"the length of the dataset is not known, ds.apply(ps.assert_cardinality(n))."
        )
    connected(f"write_tfrecord(engine={engine!r}) at {user_site()}")
    return write_tfrecord(pipeline, directory, fill=filled, **how)


def filled(writing: Writing, manifest: Manifest, bad: set[int], fresh: bool) -> Manifest:
    """Write the shards that are not there, or damaged."""
    where = f"write_tfrecord at {user_site()}"
    ray = connected(where)
    if fresh:
        manifest.save(writing.folder)
        remove_leftovers(writing.folder, set())
    job = WriteJob(
        writing.op,
        writing.options,
        writing.budget.total,
        str(writing.folder.absolute()),
        manifest.layout,
        manifest.compression,
        manifest.seed,
    )
    ledger = _Published(writing, manifest, bad)
    tasks = _Tasks(ray, Shipment(ray, job, where))
    try:
        for run, wrote in tasks.done(_runs(manifest, bad, tasks.places)):
            ledger.add(run, wrote)
    except (PenstockError, KeyboardInterrupt) as error:
        count = len(ledger.manifest.shards)
        error.add_note(f"{count} shards are complete; the same call goes on after them.")
        raise
    finally:
        tasks.end()
        ledger.progress.end()
    return ledger.complete()


def _runs(manifest: Manifest, bad: set[int], places: int) -> Iterator[range]:
    """The shards to write, in runs: those that are damaged each by itself."""
    yield from (range(number, number + 1) for number in sorted(bad))
    first, last = len(manifest.shards), manifest.layout.shards or 0
    step = max(1, -(-(last - first) // (RUNS * places)))
    yield from (range(start, min(start + step, last)) for start in range(first, last, step))


class _Tasks:
    """Tasks at work, as many as the cluster has processors."""

    def __init__(self, ray: Any, shipment: Shipment) -> None:
        self._ray = ray
        self._shipment = shipment
        self._task = ray.remote(write_shards).options(
            num_cpus=1, max_retries=RETRIES, scheduling_strategy="SPREAD"
        )
        self.places = max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._at_work: dict[Any, range] = {}

    def done(self, runs: Iterator[range]) -> Iterator[tuple[range, Wrote]]:
        """What each has written, as they come. Of several that fail, the error of the first is raised."""
        failed: tuple[int, BaseException] | None = None
        while True:
            while failed is None and len(self._at_work) < self.places and (run := next(runs, None)):
                self._start(run)
            if not self._at_work:
                break
            run, answer = self._next()
            if isinstance(answer, Wrote):
                yield run, answer
                continue
            if failed is None or run.start < failed[0]:
                failed = run.start, answer.error()
            self._cancel(after=failed[0])
        if failed is not None:
            raise failed[1]

    def _start(self, run: range) -> None:
        self._at_work[self._task.remote(self._shipment.ref, run.start, run.stop)] = run

    def _next(self) -> tuple[range, Wrote | Sent]:
        while True:
            ref = self._ray.wait(list(self._at_work), num_returns=1)[0][0]
            run = self._at_work.pop(ref)
            try:
                answer = self._ray.get(ref)
            except self._ray.exceptions.RayTaskError:
                raise
            except self._ray.exceptions.RayError as error:
                raise PenstockError(
                    f"Shards {run.start} to {run.stop - 1} could not be written: the workers that were at it "
                    f"were lost, one after another: {type(error).__name__}."
                ) from error
            if isinstance(answer, Lacking):
                self._shipment.without(answer)
                self._start(run)
            else:
                return run, answer

    def _cancel(self, after: int) -> None:
        """Let nobody go on whose shards come later."""
        for ref, run in list(self._at_work.items()):
            if run.start > after:
                self._ray.cancel(ref, force=True)
                del self._at_work[ref]

    def end(self) -> None:
        """Let nobody go on."""
        self._cancel(after=-1)


class _Published:
    """What is written so far: the manifest never says more than is there, and has no gaps."""

    def __init__(self, writing: Writing, manifest: Manifest, bad: set[int]) -> None:
        self.manifest = manifest
        self._folder = writing.folder
        self._bad = bad
        self._early: dict[int, tuple[range, Wrote]] = {}
        length = manifest.layout.length
        self.progress = Progress(length, manifest.elements)
        self._bytes = 0

    def add(self, run: range, wrote: Wrote) -> None:
        """Check what a task says that it has written, and say so once all before it is there."""
        for shard in wrote.shards:
            if not is_whole(self._folder, shard):
                raise StoreError(
                    f"{self._folder}: expected {shard.name} as a worker has written it, but it is not "
                    f"there, or another one. Write to a folder that all machines of the cluster share.",
                    file=str(self._folder / shard.name),
                )
            self._bytes += shard.bytes
        if run.start in self._bad:
            self._again(run.start, wrote)
            return
        self._early[run.start] = run, wrote
        while (early := self._early.pop(len(self.manifest.shards), None)) is not None:
            made = self.manifest
            for number, shard in zip(*early[:1], early[1].shards, strict=True):
                made = made.with_shard(number, shard)
            observed = Observed(made.features)
            observed.add(early[1].features)
            self._save(replace(made, features=observed.features()))
        self.progress.tell(len(self.manifest.shards), self.manifest.elements, self._bytes)

    def _again(self, number: int, wrote: Wrote) -> None:
        if wrote.shards[0] != self.manifest.shards[number]:
            raise StoreError(
                f"{self._folder}: expected the same elements as in the run before, to put right what is "
                f"damaged, but {wrote.shards[0].name} came out otherwise. The pipeline, or what it reads, "
                f"gives something else each time. Start anew with overwrite=True.",
                file=str(self._folder),
            )

    def complete(self) -> Manifest:
        """All is there."""
        self._save(replace(self.manifest, state=COMPLETE))
        return self.manifest

    def _save(self, manifest: Manifest) -> None:
        manifest.save(self._folder)
        self.manifest = manifest
