"""What a Ray task does: writes a few shards of a data set, one after another."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from penstock.blocks.columns import BytesColumn
from penstock.cluster.line import Begun, line_of, one_by_one
from penstock.cluster.travel import Lacking, Shipped, loaded
from penstock.engine.processes.travel import Sent, as_sent
from penstock.engine.run import Run
from penstock.errors import CardinalityError
from penstock.graph.op import Op
from penstock.graph.passes import plan_of
from penstock.memory.shared import Budget
from penstock.ops.map import Map
from penstock.options import Options
from penstock.writing.behind import FromMiddle, behind
from penstock.writing.layout import Layout
from penstock.writing.manifest import Feature, Shard
from penstock.writing.observe import Observe, Observed, record_of
from penstock.writing.packing import KINDS, Packing, Plain, Put
from penstock.writing.shard_file import FRAMES, ShardFile
from penstock.writing.tfrecord import RECORD, records_of


@dataclass(frozen=True)
class WriteJob:
    """What all tasks of one call have in common."""

    op: Op
    options: Options
    memory: int
    folder: str
    layout: Layout
    compression: str | None
    seed: int

    def before(self, number: int) -> int:
        """How many elements are in the shards before that one."""
        return sum(self.layout.quota(earlier) or 0 for earlier in range(number))


@dataclass(frozen=True)
class Wrote:
    """What a task has written: the shards in order, and what their elements have in common."""

    shards: tuple[Shard, ...]
    features: dict[str, Feature] | None


def write_shards(shipped: Shipped, first: int, last: int) -> Wrote | Sent | Lacking:
    """Write the shards from `first` up to `last`. The task itself: errors are sent, not raised."""
    job = loaded(shipped)
    if isinstance(job, Lacking):
        return job
    try:
        return _written(job, first, last)
    except Exception as error:
        return as_sent(error)


def _written(job: WriteJob, first: int, last: int) -> Wrote:
    op = begun(job.op, job.before(first))
    observed: Observed | None = None
    if op.spec is None or op.spec.nest() != RECORD:
        observed = Observed(None)
        op = Observe(inputs=(op,), observed=observed).named("write_tfrecord")
        op = Map(inputs=(op,), function=record_of).named("serialize_example")
    with ExitStack() as stack:
        packers = stack.enter_context(ThreadPoolExecutor(1, "penstock-pack"))
        run = Run(plan_of(op, job.options, job.memory), Budget(job.memory), seed=job.seed, epoch=0)
        stack.callback(run.close)
        records = _Records(run, job)
        shards = [_shard(job, number, records, packers) for number in range(first, last)]
        if last == job.layout.shards:
            records.check_end()
    return Wrote(tuple(shards), None if observed is None else observed.features())


def _shard(job: WriteJob, number: int, records: _Records, packers: ThreadPoolExecutor) -> Shard:
    """Write one file, which is there when it is whole."""

    def packing(put: Put) -> Packing:
        return Plain(put) if job.compression is None else KINDS[job.compression](put, packers, 1)

    file = ShardFile(Path(job.folder), job.layout.name(number), packing, np.empty(FRAMES, np.uint8))
    try:
        left = job.layout.quota(number) or 0
        while left:
            some = records.take(left)
            file.write(some)
            left -= some.rows
        shard = file.end()
        file.commit()
        return shard
    finally:
        file.discard()


class _Records:
    """The records of a run, in the numbers in which they are asked for."""

    def __init__(self, run: Run, job: WriteJob) -> None:
        self._run = run
        self._job = job
        self._rest: BytesColumn | None = None

    def take(self, rows: int) -> BytesColumn:
        """From one up to `rows` records."""
        some, self._rest = self._rest, None
        if some is None:
            block = self._run.next_block()
            if block is None:
                raise self._other("fewer")
            some = records_of(block)
        if some.rows > rows:
            self._rest = some.slice(rows, some.rows)
            some = some.slice(0, rows)
        return some

    def check_end(self) -> None:
        """An error if there are more."""
        if self._rest is not None or self._run.next_block() is not None:
            raise self._other("more")

    def _other(self, what: str) -> CardinalityError:
        return CardinalityError(
            f"{self._job.folder}: expected {self._job.layout.length} elements, as the dataset says of "
            f"itself, got {what}. Say the length that it has: ds.apply(ps.assert_cardinality(n))."
        )


def begun(op: Op, count: int) -> Op:
    """The elements of `op` after the first `count`, of which the last maps are not called.

    What is above these maps is read past, unless it can begin in its middle.
    """
    above, line = line_of(op)
    if not line:
        return behind(op, count)
    skip = count
    if count and above.traits.random_access and not above.traits.costly_access:
        above = FromMiddle(inputs=above.inputs, source=above, count=count, site=above.site)
        skip = 0
    for one in line:
        above = Begun(inputs=(above,), op=one_by_one(one), seen=count, skip=skip, site=one.site)
        skip = 0
    return above
