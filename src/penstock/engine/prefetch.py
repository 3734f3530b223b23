"""The seam of `prefetch`: a thread that pulls ahead into a queue bounded in rows and in bytes."""

from __future__ import annotations

import threading
from collections import deque
from time import perf_counter
from typing import Any, Protocol

from penstock.blocks.block import Block
from penstock.engine.aside import Aside, end_all
from penstock.engine.cancel import Cancel, Cancelled
from penstock.engine.context import StageContext
from penstock.engine.demand import MOST, Demand
from penstock.engine.depth import Depth
from penstock.errors import ElementError
from penstock.graph.running import Running
from penstock.graph.track import Pace, State

BLOCKS_READY = 1
"""So many blocks are kept ready at first where nobody said how many."""
SHARE = 4
"""And later more, up to one part in so many of the budget."""
HUNGRY = 0.25
"""Who comes back for the next block in this share of the time that it takes to make one waits anyway."""
AGAIN = 5
"""So many times in a row, and the block is made by who waits for it: a hand-over would only cost."""
PAUSE = 0.05
"""Seconds after which who made blocks itself has something else to do, and they are made ahead again. A
block that takes longer is always made by the thread: who waits for it can be called off."""


class PrefetchOp(Protocol):
    """What the seam reads of its op."""

    @property
    def rows(self) -> int | None:
        """The most rows to keep ready; None for as many as the bytes allow."""

    @property
    def bytes(self) -> int | None:
        """The most bytes to keep ready; None for what suits the budget."""


class Prefetch(Running):
    """Keeps blocks ready. Errors cross the seam in their place.

    A block is made whenever fewer rows are ready than was asked for. It may bring more than that: a
    hand-over costs the same for many rows as for one, and a block is small in bytes and in time.

    The room for a block is claimed before it is made, so that many of these share one budget. Where there
    is none, a block is made when somebody waits for it.

    Who does nothing between one block and the next gains nothing by a thread: while blocks are quick to make,
    it makes them itself, and goes on doing so until it has something else to do. So it is taken to be at the
    beginning; but the first block, of which nobody knows how long it takes, is the thread's.
    """

    def __init__(self, context: StageContext, op: PrefetchOp) -> None:
        self._context = context
        self._lock = threading.RLock()  # in each `with`, and not the condition: decision 0007
        self._changed = threading.Condition(self._lock)
        self._rows = op.rows or MOST
        self._bytes = op.bytes or 1 << 62
        self._depth = (
            Depth(context.run.turn, context.meter, BLOCKS_READY) if op.rows is op.bytes is None else None
        )
        self._queue: deque[Block | BaseException | None] = deque()
        self._states: deque[State | None] = deque()  # of the input, before each of these, as far as taken
        self._before: State | None = None
        self._pace = Pace()
        self._ready_rows = 0
        self._ready_bytes = 0
        self._largest = 0
        self._claimed = 0
        self._wanted = False
        self._waits = False  # whether the thread waits for room
        self._making = False  # whether somebody is just making a block
        self._hungry = AGAIN  # how many times in a row somebody came back for the next one at once
        self._took = 0.0  # seconds that the last block took to make
        self._left = 0.0  # when the last one was handed on
        self._demand = Demand(context.rows_for, context.options.block_rows, context.meter)
        self._stop = context.cancel = Cancel(context.cancel, self._wake)
        self._upstream = context.input()
        self._aside: Aside | None = None
        self._ended = False
        self._over = False  # whether nothing more is to be made

    def pull(self, rows: int) -> Block | None:
        if self._ended:
            return None
        if self._aside is None:
            self._aside = Aside(self._context.run, f"penstock-{self._context.label}", self._fill)
        if self._makes_it_itself():
            began = perf_counter()
            self._hand_over(self._next(), self._before, inline=True)
            self._context.meter.waited += perf_counter() - began
        with self._lock:
            began = perf_counter()
            self._wanted = not self._queue
            if self._wanted and self._depth is not None:
                self._depth.empty(self._context.ledger.shared.share // SHARE // self._block)
            while not self._queue:
                self._stop.check()
                self._changed.notify_all()
                self._changed.wait()
            self._context.meter.waited += perf_counter() - began
            head, state = self._queue[0], self._states[0]
            if state is not None:
                self._context.track.stand({"input": state})
                self._states[0] = None
            if isinstance(head, Block) and head.rows > rows:
                self._queue[0] = head.slice(rows, head.rows)
                head = head.slice(0, rows)
            else:
                self._queue.popleft()
                self._states.popleft()
            if isinstance(head, Block):
                self._ready_rows -= head.rows
                self._ready_bytes -= head.nbytes
            self._left = perf_counter()
            if self._waits or self._hungry < AGAIN:
                self._changed.notify_all()
        if isinstance(head, BaseException):
            try:
                raise head
            finally:
                del head  # an error that is a variable of its own frame would keep it alive
        self._ended = head is None
        return head

    def _makes_it_itself(self) -> bool:
        """Whether who pulls is to make the next block: it has nothing else to do, and nor has the thread."""
        with self._lock:
            if not self._left:  # nobody knows yet how long the first one takes
                return False
            back_at_once = perf_counter() - self._left < HUNGRY * self._took
            self._hungry = self._hungry + 1 if back_at_once else 0
            if self._hungry < AGAIN or self._took > PAUSE or self._queue or self._making:
                return False
            self._making = True
            return True

    def _fill(self) -> None:
        """Runs in the thread until the end, an error that breaks the source, or `close`."""
        while self._wait_for_room():
            item = self._next()
            if not self._hand_over(item, self._before):
                return

    def _wait_for_room(self) -> bool:
        """Whether there is room for more; False when the run is to end."""
        with self._lock:
            while not self._stop.is_set() and not self._over:
                idle = perf_counter() - self._left
                if self._hungry >= AGAIN and self._took <= PAUSE and (self._making or idle < PAUSE):
                    self._changed.wait(PAUSE)  # nobody tells: it would cost each time, and serve once
                elif self._making:
                    self._changed.wait()
                elif self._has_room() and self._claim():
                    self._making = True
                    return True
                else:
                    self._waits = True
                    self._changed.wait()
                    self._waits = False
        return False

    def _next(self) -> Block | BaseException | None:
        began = perf_counter()
        try:
            self._before = self._pace.taken(self._upstream.state) if self._pace.due else None
            block = self._demand.pull(self._upstream)
            if block is not None and block.settle():  # ahead means all of the work
                self._context.account.adopt(block)
        except Cancelled:
            raise
        except BaseException as error:  # handed over, and raised where the user can see it
            return error
        finally:
            self._context.ledger.unclaim(self._claimed)
            self._claimed = 0
            self._took = perf_counter() - began
        if block is not None:
            self._context.account.take_over(block)
        return block

    def _hand_over(
        self, item: Block | BaseException | None, state: State | None, *, inline: bool = False
    ) -> bool:
        """Put a block, an error or the end into the queue; whether more is to come."""
        with self._lock:
            if isinstance(item, Block):
                self._ready_rows += item.rows
                self._ready_bytes += item.nbytes
                self._largest = max(self._largest, item.nbytes)
            self._queue.append(item)
            self._states.append(state)
            self._over = not isinstance(item, Block | ElementError)
            if not inline:  # who has made it itself has no one to tell
                self._changed.notify_all()
            self._wanted = self._making = False
        return not self._over

    def _has_room(self) -> bool:
        """Whether less is ready than was asked for."""
        if not self._queue:
            return True
        enough = self._bytes if self._depth is None else self._depth.blocks * self._block
        if self._ready_rows < self._rows and self._ready_bytes < enough:
            return True
        if self._depth is not None:
            self._depth.full()
        return False

    @property
    def _block(self) -> int:
        """The bytes of a block, at most."""
        return max(self._context.block_bytes, self._largest)

    def _claim(self) -> bool:
        """Whether the budget has room for one more block, or somebody cannot do without it."""
        if self._context.ledger.claim(self._context.account, self._largest):
            self._claimed = self._largest
            return True
        if self._wanted:
            return True
        self._context.note("keeps fewer elements ready than it was asked for, to stay in the budget")
        return False

    def state(self) -> Any:
        """Where the input stands, before its beginning: later, where it stood before what is ready."""
        return {"input": self._upstream.state()}

    def restore(self, state: Any) -> None:
        self._upstream.restore(state["input"])

    def _wake(self) -> None:
        with self._lock:
            self._changed.notify_all()

    def close(self) -> None:
        self._stop.set()
        if self._aside is not None and not end_all([self._aside], self._upstream.close):
            self._context.leave(self._upstream)
        with self._lock:
            self._queue.clear()
            self._states.clear()
