"""Chunks out to workers and back, in order, with a bounded number of bytes on their way."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

from penstock.blocks.block import Block
from penstock.cluster.chunk import GIVEN_UP, SPLIT, Chunk
from penstock.cluster.crew import Crew
from penstock.cluster.travel import Parcel, parcel_of
from penstock.cluster.worker import Job
from penstock.engine.context import StageContext
from penstock.engine.processes.travel import Sent
from penstock.errors import ElementError, WorkerError
from penstock.graph.running import Running
from penstock.graph.track import Pace
from penstock.memory.account import SMALLER

SECONDS = 0.25
"""About so long a worker is at a chunk: a hand-over costs a few milliseconds."""
MOST = 256
"""So many chunks, and elements that have failed above, are in line at most."""
GROWTH = 4
"""A chunk has at most so many times the rows of the one before."""


@dataclass(frozen=True)
class Failed:
    """An element that failed above the maps, or that no worker has survived."""

    error: ElementError
    missed: tuple[int, ...] = ()
    """For each map, whether it has not come to it, where it was taken in."""


class Feeding(Running):
    """Takes rows in, has workers make of them what the maps make, and hands that on in order.

    Each chunk is on the ledger, with what comes of it, from the moment it is sent until it is handed on. How
    many rows it has decides when elements come, never which: maps are told the numbers of their elements.
    Where an element fails, the maps after it count one less, and chunks that were sent before that was known
    are done again, unless there is but one map.
    """

    def __init__(self, ray: Any, context: StageContext, job: Job, workers: int) -> None:
        self._ray = ray
        self._context = context
        self._upstream = context.input()
        self._crew = Crew(ray, job, workers, context.where)
        self._let_go = context.on_close(self._crew.end)
        self._shipped = self._crew.nbytes
        if not context.account.request(self._shipped):
            context.account.require(self._shipped, "Make what the functions refer to smaller.")
        self._line: deque[Chunk | Failed] = deque()
        self._ready: deque[Block | BaseException] = deque()
        self._held: Block | None = None
        """Rows for which there is no room on the way."""
        self._held_state: Any = None
        self._ended = False
        self._seen = 0
        self._short = (0,) * len(job.line)
        """For each map, how many of the elements taken in have failed before it."""
        self._rows = 1
        self._row_bytes: int | None = None
        """What the largest row took that came of one."""
        self._pace = Pace()

    def pull(self, rows: int) -> Block | None:
        while not self._ready:
            self._context.cancel.check()
            self._fill()
            if not self._line:
                if self._ended:
                    return None
                self._wait()  # nobody is there yet
                continue
            head = self._line[0]
            if isinstance(head, Failed):
                self._line.popleft()
                self._count(head.missed)
                raise head.error
            if head.made is None:
                self._wait()
            else:
                self._take(head)
        made = self._ready.popleft()
        if isinstance(made, BaseException):
            try:
                raise made
            finally:
                del made  # an error that is a variable of its own frame would keep it alive
        if made.rows > rows:
            self._ready.appendleft(made.slice(rows, made.rows))
            made = made.slice(0, rows)
        return made

    # Out

    def _fill(self) -> None:
        """Give workers what they have room for."""
        while (member := self._crew.free()) is not None:
            chunk = self._next()
            if chunk is None:
                return
            chunk.assumed = self._short
            self._crew.give(member, chunk, [chunk.start - short for short in self._short])

    def _next(self) -> Chunk | None:
        """The next chunk to be done; None if there is none, or no room for it."""
        chunks = [one for one in self._line if isinstance(one, Chunk)]
        for chunk in chunks:
            if chunk.waits and (not chunk.large or chunk is self._line[0]):
                return chunk
        if chunks and (self._row_bytes is None or any(chunk.large for chunk in chunks)):
            return None  # until it is known what comes of a row
        while not self._ended and len(self._line) < MOST:
            block = self._taken_in()
            if block is not None:
                return self._sent(block)
        return None

    def _taken_in(self) -> Block | None:
        """The next rows; None if an error is there instead, or the end."""
        if self._held is None:
            state = self._pace.taken(self.state) if self._pace.due else None
            try:
                self._held = self._upstream.pull(self._rows)
            except ElementError as error:
                self._line.append(Failed(error.with_traceback(None)))  # its frames hold blocks
                return None
            self._held_state = state
            self._ended = self._held is None
        return self._held

    def _sent(self, block: Block) -> Chunk | None:
        """A chunk in the object store, at the end of the line; None if it has to wait for room."""
        taken = block.nbytes
        size = taken + (taken if self._row_bytes is None else self._row_bytes * block.rows)
        account = self._context.account
        if not account.request(size):
            if self._line:
                self._context.note("has fewer chunks on their way, to stay in the budget")
                return None
            account.require(size, SMALLER)
        parcel = parcel_of(block)
        chunk = Chunk(self._ray.put(parcel), 0, block.rows, self._seen, taken)
        chunk.reserved, chunk.state = size, self._held_state
        self._seen += block.rows
        self._held = self._held_state = None
        self._line.append(chunk)
        return chunk

    # Back

    def _wait(self) -> None:
        """Wait until something is done, or somebody is lost."""
        before = self._crew.lost
        for chunk in self._crew.wait():
            self._arrived(chunk)
        self._context.cancel.check()
        if self._crew.lost > before:
            self._context.note("lost workers; what they had was done again by others")
            for chunk in [one for one in self._line if isinstance(one, Chunk)]:
                self._suspect(chunk)

    def _arrived(self, chunk: Chunk) -> None:
        made = chunk.made
        assert made is not None
        if made.broken is not None:
            return
        if chunk.assumed != self._short:
            chunk.reset()
            return
        self._learn(chunk)
        account, more = self._context.account, chunk.taken + made.nbytes - chunk.reserved
        if more <= 0:
            account.release(-more)
        elif not account.request(more):
            if chunk is not self._line[0]:
                chunk.reset()
                chunk.large = True
                return
            account.require(more, SMALLER)
        chunk.reserved += more

    def _learn(self, chunk: Chunk) -> None:
        """How large chunks are from now on."""
        assert chunk.made is not None
        made, rows = chunk.made, chunk.rows
        self._row_bytes = max(self._row_bytes or 0, -(-made.nbytes // rows))
        by_bytes = self._context.rows_for(max(self._row_bytes, chunk.taken // rows))
        by_time = int(SECONDS * rows / max(made.seconds, 1e-9))
        self._rows = max(1, min(GROWTH * max(self._rows, rows), by_bytes, by_time))

    def _take(self, chunk: Chunk) -> None:
        """Hand on what came of the first chunk, or have it done again."""
        made = chunk.made
        assert made is not None
        if made.broken is not None:
            raise made.broken.error()
        if chunk.assumed != self._short:
            chunk.reset()
            return
        data = self._crew.fetched(chunk)
        if data is None:
            self._context.cancel.check()
            chunk.reset()
            return
        self._line.popleft()
        if chunk.state is not None:
            self._context.track.stand({**chunk.state, "short": list(self._short)})
        self._context.account.release(chunk.reserved)
        for piece in data:
            if isinstance(piece, Sent):
                self._ready.append(piece.error())
            else:
                assert isinstance(piece, Parcel)
                block = piece.views()
                self._context.account.adopt(block)
                self._ready.append(block)
        self._count(tuple(chunk.rows - passed for passed in made.passed))

    def _count(self, failed: tuple[int, ...]) -> None:
        """So many elements more have not come to each map; what was made in another belief is made again."""
        if not any(failed):
            return
        self._short = tuple(short + more for short, more in zip(self._short, failed, strict=True))
        for chunk in self._line:
            if isinstance(chunk, Chunk) and chunk.made is not None:
                chunk.reset()

    def _suspect(self, chunk: Chunk) -> None:
        """Find the row that kills the workers, where it seems that there is one."""
        place = self._line.index(chunk)
        if chunk.rows > 1 and chunk.losses >= SPLIT:
            del self._line[place]
            for half in reversed(chunk.halves()):
                self._line.insert(place, half)
        elif chunk.losses >= GIVEN_UP:
            self._line[place] = self._killer(chunk)
            self._context.account.release(chunk.reserved)

    def _killer(self, chunk: Chunk) -> Failed:
        error = WorkerError(
            f"{self._context.where}: the Ray workers that were given element {chunk.start} were lost, one "
            f"after another, {chunk.losses} times: the function may run out of memory there, or crash.",
            op=self._context.label,
            number=chunk.start,
        )
        return Failed(error, tuple(min(number, 1) for number in range(len(self._short))))

    # Where it stands

    def state(self) -> Any:
        return {"input": self._upstream.state(), "seen": self._seen, "short": list(self._short)}

    def restore(self, state: Any) -> None:
        self._upstream.restore(state["input"])
        self._seen = state["seen"]
        self._short = tuple(state["short"])

    def close(self) -> None:
        self._crew.end()
        self._let_go()
        self._context.account.release(self._shipped)
        for chunk in self._line:
            if isinstance(chunk, Chunk):
                self._context.account.release(chunk.reserved)
                chunk.reset()
                chunk.ref = None
        self._line.clear()
        self._ready.clear()
        self._held = None
