"""The seam of `prefetch`: a thread that pulls ahead into a queue bounded in rows and in bytes."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections import deque
from time import perf_counter
from typing import Protocol

from penstock.blocks.block import Block
from penstock.engine.cancel import Cancel, Cancelled
from penstock.engine.demand import MOST, Demand
from penstock.engine.endings import at_work_for
from penstock.engine.stage import StageContext
from penstock.errors import ElementError
from penstock.graph.running import Running

BLOCKS_READY = 4
"""So many blocks are kept ready where nobody said how many."""
GRACE = 0.4
"""Seconds that closing waits for a thread that is busy in a user's function, twice."""


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
        self._thread: threading.Thread | None = None
        self._busy = False
        self._left_alone = False
        self._ended = False

    def pull(self, rows: int) -> Block | None:
        if self._ended:
            return None
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._produce, name=f"penstock-{self._context.label}", daemon=True
            )
            self._busy = True
            self._thread.start()
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

    def _produce(self) -> None:
        """Runs in the thread until the end, an error that breaks the source, or `close`."""
        with at_work_for(self._context.run):
            with contextlib.suppress(Cancelled):
                self._fill()
            with self._changed:
                self._busy = False
                left_alone = self._left_alone
            if left_alone:
                self._upstream.close()

    def _fill(self) -> None:
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
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(GRACE)
            if thread.is_alive():
                _interrupt(thread)
                thread.join(GRACE)
        with self._changed:
            self._queue.clear()
            if self._busy and thread is not None and thread.is_alive():
                # Stuck where Python cannot reach it: the thread closes its inputs when it comes back.
                self._left_alone = True
                self._context.leave(self._upstream)


def _interrupt(thread: threading.Thread) -> None:
    """Raise `Cancelled` in a thread that is busy in a user's Python code."""
    ident = ctypes.c_ulong(thread.ident or 0)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(Cancelled))
