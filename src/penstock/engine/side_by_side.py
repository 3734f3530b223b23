"""The seam of a map whose function has no side effects: several blocks at once, results in order."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

from penstock.blocks.block import Block
from penstock.engine.stage import StageContext
from penstock.errors import ElementError
from penstock.graph.op import Op
from penstock.graph.running import Divisible, Done, Job, Running, Work

SMALL = 256 << 10
"""A job whose results take fewer bytes is done at once: handing it to a thread would cost more."""


def workers_for(context: StageContext, op: Op) -> int:
    """How many threads are to work on the blocks of an op: one means none of its own.

    Reading ahead is only for those who asked for it, with `num_parallel_calls` or a `prefetch` below.
    """
    if not op.divisible or context.nested or (op.parallel_calls is None and not context.read_ahead):
        return 1
    cpus = len(os.sched_getaffinity(0))
    said = op.parallel_calls
    return cpus if said is None or said < 1 else min(said, cpus)


class SideBySide(Running):
    """Hands jobs to threads, one more than there are threads, and takes the results in order.

    No job is handed out before it is known what a row takes, and none that would take, with those
    before it, more than a block a thread and one more.
    """

    def __init__(self, context: StageContext, running: Divisible, workers: int) -> None:
        self._running = running
        self._workers = workers
        self._label = context.label
        self._room = context.block_bytes
        self._threads: ThreadPoolExecutor | None = None
        self._free: SimpleQueue[Work] = SimpleQueue()
        for _ in range(workers + 1):
            self._free.put(running.worker())
        self._jobs: deque[Future[Done] | Done] = deque()
        self._ready: deque[Block | ElementError] = deque()
        self._row_bytes = 0
        self._ended = False
        context.account.expect((workers + 1) * context.block_bytes)

    def pull(self, rows: int) -> Block | None:
        while not self._ready:
            self._hand_out(rows)
            if not self._jobs:
                return None
            self._take(self._jobs.popleft())
        head = self._ready.popleft()
        if isinstance(head, ElementError):
            try:
                raise head
            finally:
                del head
        if head.rows > rows:
            self._ready.appendleft(head.slice(rows, head.rows))
            head = head.slice(0, rows)
        return head

    def _hand_out(self, rows: int) -> None:
        """Have a job for every thread, and one more, as far as the memory goes."""
        while not self._ended and len(self._jobs) <= self._workers:
            if self._row_bytes:
                rows = min(rows, max(1, self._room // self._row_bytes))
            taken = (len(self._jobs) + 1) * rows * self._row_bytes
            if self._jobs and (not self._row_bytes or taken > (self._workers + 1) * self._room):
                return
            try:
                job = self._running.next_job(rows)
            except ElementError as error:
                self._jobs.append(([error.with_traceback(None)], None))
                continue
            if job is None:
                self._ended = True
            elif not self._row_bytes or job.block.rows * self._row_bytes < SMALL:
                self._jobs.append(self._do(job))
                return
            else:
                self._jobs.append(self._pool().submit(self._do, job))

    def _take(self, done: Future[Done] | Done) -> None:
        results, rest = done.result() if isinstance(done, Future) else done
        for block in results:
            if isinstance(block, Block):
                self._row_bytes = max(self._row_bytes, -(-block.nbytes // block.rows), 1)
        self._ready.extend(results)
        if rest is not None:  # its results were larger than was known
            self._jobs.appendleft(self._do(rest))

    def _do(self, job: Job) -> Done:
        work = self._free.get()
        try:
            return work(job)
        finally:
            self._free.put(work)

    def _pool(self) -> ThreadPoolExecutor:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._workers, f"penstock-{self._label}")
        return self._threads

    def close(self) -> None:
        if self._threads is not None:
            self._threads.shutdown(wait=True, cancel_futures=True)
        self._jobs.clear()
        self._ready.clear()
        self._running.close()


def started(context: StageContext, op: Op) -> Running:
    """The op at work, on several threads where it can be and should."""
    running: Any = op.start(context)
    workers = workers_for(context, op)
    return running if workers < 2 else SideBySide(context, running, workers)
