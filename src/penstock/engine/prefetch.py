"""The seam of `prefetch`: a thread that pulls ahead into a queue bounded in rows and in bytes."""

from __future__ import annotations

import threading
from collections import deque
from time import perf_counter
from typing import Protocol

from penstock.blocks.block import Block
from penstock.engine.aside import Aside, end_all
from penstock.engine.cancel import Cancel, Cancelled
from penstock.engine.demand import MOST, Demand
from penstock.engine.stage import StageContext
from penstock.errors import ElementError
from penstock.graph.running import Running

BLOCKS_READY = 2
"""So many blocks are kept ready where nobody said how many."""


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
    """

    def __init__(self, context: StageContext, op: PrefetchOp) -> None:
        self._context = context
        self._rows = op.rows or MOST
        self._bytes = op.bytes or (BLOCKS_READY * context.block_bytes if op.rows is None else 1 << 62)
        self._chosen = op.bytes is None
        self._changed = threading.Condition()
        self._queue: deque[Block | BaseException | None] = deque()
        self._ready_rows = 0
        self._ready_bytes = 0
        self._largest = 0
        self._claimed = 0
        self._wanted = False
        self._stop = context.cancel = Cancel(context.cancel, self._wake)
        self._upstream = context.input()
        self._aside: Aside | None = None
        self._ended = False

    def pull(self, rows: int) -> Block | None:
        if self._ended:
            return None
        if self._aside is None:
            self._aside = Aside(self._context.run, f"penstock-{self._context.label}", self._fill)
        with self._changed:
            began = perf_counter()
            self._wanted = not self._queue
            while not self._queue:
                self._stop.check()
                self._changed.notify_all()
                self._changed.wait()
            self._context.meter.waited += perf_counter() - began
            head = self._queue[0]
            if isinstance(head, Block) and head.rows > rows:
                self._queue[0] = head.slice(rows, head.rows)
                head = head.slice(0, rows)
            else:
                self._queue.popleft()
            if isinstance(head, Block):
                self._ready_rows -= head.rows
                self._ready_bytes -= head.nbytes
            self._changed.notify_all()
        if isinstance(head, BaseException):
            try:
                raise head
            finally:
                del head  # an error that is a variable of its own frame would keep it alive
        self._ended = head is None
        return head

    def _fill(self) -> None:
        """Runs in the thread until the end, an error that breaks the source, or `close`."""
        demand = Demand(self._context.rows_for, self._context.options.block_rows)
        while self._wait_for_room():
            if not self._hand_over(self._next(demand)):
                return

    def _wait_for_room(self) -> bool:
        """Whether there is room for more; False when the run is to end."""
        with self._changed:
            while not self._stop.is_set() and not (self._has_room() and self._claim()):
                self._changed.wait()
        return not self._stop.is_set()

    def _next(self, demand: Demand) -> Block | BaseException | None:
        try:
            block = demand.pull(self._upstream)
        except Cancelled:
            raise
        except BaseException as error:  # handed over, and raised where the user can see it
            return error
        finally:
            self._context.ledger.unclaim(self._claimed)
            self._claimed = 0
        if block is not None:
            self._context.account.take_over(block)
        return block

    def _hand_over(self, item: Block | BaseException | None) -> bool:
        """Put a block, an error or the end into the queue; whether more is to come."""
        with self._changed:
            if isinstance(item, Block):
                self._ready_rows += item.rows
                self._ready_bytes += item.nbytes
                self._largest = max(self._largest, item.nbytes)
            self._queue.append(item)
            self._wanted = False
            self._changed.notify_all()
        return isinstance(item, Block | ElementError)

    def _has_room(self) -> bool:
        """Whether less is ready than was asked for."""
        if not self._queue:
            return True
        enough = max(self._bytes, 2 * self._largest) if self._chosen else self._bytes
        return self._ready_rows < self._rows and self._ready_bytes < enough

    def _claim(self) -> bool:
        """Whether the budget has room for one more block, or somebody cannot do without it."""
        if self._context.ledger.claim(self._context.account, self._largest):
            self._claimed = self._largest
            return True
        if self._wanted:
            return True
        self._context.note("keeps fewer elements ready than it was asked for, to stay in the budget")
        return False

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def close(self) -> None:
        self._stop.set()
        if self._aside is not None and not end_all([self._aside], self._upstream.close):
            self._context.leave(self._upstream)
        with self._changed:
            self._queue.clear()
