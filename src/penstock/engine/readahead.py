"""The seam of read-ahead: threads that fetch what a sequential reader of a slow store asks for next."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from penstock.engine.aside import Aside, end_all
from penstock.errors import StoreError
from penstock.io.stores.stored import Stored
from penstock.memory.pages import own_pages

if TYPE_CHECKING:
    from penstock.engine.context import StageContext

RANGE = 1 << 20
"""So many bytes are fetched at a time."""
DEPTH = 8
"""So many ranges are ready or on their way, when the reader has come to need them."""


class Slot:
    """One range: on its way, there, or failed."""

    __slots__ = ("buffer", "busy", "done", "error", "size", "start")

    def __init__(self, start: int, size: int, buffer: NDArray[Any]) -> None:
        self.start = start
        self.size = size
        self.buffer = buffer
        self.busy = False
        self.done = False
        self.error: BaseException | None = None


class ReadAhead(Stored):
    """A stored file whose next ranges are fetched while the reader is at work.

    The window of ranges begins with the second of two reads that follow each other, with two ranges, and
    grows by one with each that the reader has used up. Each range is reserved on the op's account first;
    where there is no room, reads go straight to the file. An error is raised when the reader gets there.
    """

    slow = False

    def __init__(self, stored: Stored, context: StageContext) -> None:
        self.path, self.size, self.stamp = stored.path, stored.size, stored.stamp
        self._stored = stored
        self._context = context
        self._cost = RANGE + stored.beside
        self._lock = threading.RLock()  # in each `with`, and not the condition: decision 0007
        self._changed = threading.Condition(self._lock)
        self._window: deque[Slot] = deque()
        self._pending: deque[Slot] = deque()
        self._free: list[NDArray[Any]] = []
        self._depth = 2
        self._last = -1
        """Where the last read ended that did not find its bytes in the window."""
        self._reserved = 0
        self._threads: list[Aside] = []
        self._ended = False
        self._release = context.on_close(self.interrupt)

    def read_into(self, start: int, out: memoryview) -> int:
        end = max(start, min(start + len(out), self.size))
        at = start
        while at < end:
            count = self._take(at, out[at - start : end - start])
            if not count:
                count = self._stored.read_into(at, out[at - start : end - start])
                with self._lock:
                    self._last = at + count
            if not count:
                break
            at += count
        return at - start

    def _take(self, at: int, out: memoryview) -> int:
        """Copy what the window has of these bytes, having waited for the first; 0 if it has none."""
        with self._lock:
            if not self._covers(at):
                if at != self._last:
                    return 0
                self._drop(len(self._window))
                self._extend(at)
                if not self._window:
                    return 0
            while self._covers(at):
                slot = self._window[0]
                if at >= slot.start + slot.size:
                    self._drop(1)
                elif slot.error is not None:
                    self._fail(slot, at)
                elif slot.done:
                    return self._copy(slot, at, out)
                elif self._ended:
                    raise StoreError(f"{self.path}: the file was closed while it was read.", file=self.path)
                else:
                    self._changed.wait()
            return 0

    def _covers(self, at: int) -> bool:
        window = self._window
        return bool(window) and window[0].start <= at < window[-1].start + window[-1].size

    def _copy(self, slot: Slot, at: int, out: memoryview) -> int:
        offset = at - slot.start
        count = min(len(out), slot.size - offset)
        out[:count] = slot.buffer.data[offset : offset + count]
        if offset + count == slot.size:
            self._last = at + count  # if the window ends here, it begins again here
            self._depth = min(self._depth + 1, DEPTH)
            self._extend(self._last, used=1)
        return count

    def _fail(self, slot: Slot, at: int) -> None:
        """Raise the error of a range in its place; who reads there again has it fetched again."""
        error = slot.error
        assert error is not None
        slot.error = None
        self._last = at
        self._drop(len(self._window))
        try:
            raise error
        finally:
            del error

    def _extend(self, at: int, used: int = 0) -> None:
        """Let go of the ranges that are used up, and fetch more up to the depth."""
        self._drop(used)
        while len(self._window) < self._depth and not self._ended:
            last = self._window[-1] if self._window else None
            start = at if last is None else last.start + last.size
            if start >= self.size:
                break
            buffer = self._buffer()
            if buffer is None:
                break
            slot = Slot(start, min(RANGE, self.size - start), buffer)
            if not self._has_threads(len(self._window) + 1):
                self._give_back(slot)
                break
            self._window.append(slot)
            self._pending.append(slot)
            self._changed.notify_all()

    def _buffer(self) -> NDArray[Any] | None:
        if self._free:
            return self._free.pop()
        if not self._context.account.request(self._cost):
            self._context.note("reads ahead less than it could, to stay in the budget")
            return None
        self._reserved += self._cost
        return own_pages(RANGE, "u1")

    def _drop(self, count: int) -> None:
        """Take the first `count` ranges out of the window."""
        for _ in range(count):
            slot = self._window.popleft()
            if slot in self._pending:
                self._pending.remove(slot)
            if not slot.busy:  # or else the thread gives its buffer back when it is done
                self._give_back(slot)

    def _give_back(self, slot: Slot) -> None:
        """Keep the buffer of a range for the next one, unless its memory is needed elsewhere."""
        if self._context.account.over() > 0:
            self._reserved -= self._cost
            self._context.account.release(self._cost)
        else:
            self._free.append(slot.buffer)
        del slot.buffer

    def _give_all_back(self) -> None:
        """No thread is left that has a buffer."""
        with self._lock:
            self._window.clear()
            self._pending.clear()
            self._free.clear()
            self._context.account.release(self._reserved)
            self._reserved = 0

    def _has_threads(self, count: int) -> bool:
        """Have so many threads, if they are to be had; whether there is one at least."""
        if len(self._threads) < count:
            name = f"penstock-{self._context.label}-ahead"
            try:
                self._threads.append(Aside(self._context.run, name, self._work))
            except RuntimeError:  # no more threads
                return bool(self._threads)
        return True

    def _work(self) -> None:
        """Runs in each thread, until the end."""
        while (slot := self._next()) is not None:
            self._fetch(slot)

    def _next(self) -> Slot | None:
        with self._lock:
            while not self._pending and not self._ended:
                self._changed.wait()
            if not self._pending:
                return None
            slot = self._pending.popleft()
            slot.busy = True
            return slot

    def _fetch(self, slot: Slot) -> None:
        size, error = 0, None
        try:
            size = self._stored.read_into(slot.start, slot.buffer.data[: slot.size])
        except BaseException as raised:  # raised where the reader gets to it
            size, error = slot.size, raised.with_traceback(None)
        with self._lock:
            slot.busy, slot.done, slot.size, slot.error = False, True, size, error
            if slot not in self._window:
                self._give_back(slot)
            self._changed.notify_all()
        # The causes of the error keep this frame alive, which must not keep the error alive.
        del slot, error

    def interrupt(self) -> None:
        self._stored.interrupt()  # what is pending fails at once, too, and whoever waits for it learns it
        with self._lock:
            self._ended = True
            self._changed.notify_all()

    def close(self) -> None:
        self.interrupt()
        self._release()
        threads, self._threads = self._threads, []
        if end_all(threads, self._give_all_back):
            self._give_all_back()
        self._stored.close()
