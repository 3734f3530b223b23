"""A pool of reused buffers: a steady loop allocates nothing, and closing gives the memory back."""

from __future__ import annotations

import ctypes
import math
from collections import OrderedDict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.memory.account import Account
from penstock.memory.buffers import Lease
from penstock.memory.ledger import Ledger
from penstock.memory.pages import Pages, map_whole, whole_pages

SMALLEST = 128 << 10
"""Smaller arrays are left to NumPy: mapping pages for them costs more than it saves."""


class Pool:
    """Buffers for big arrays, each on the account of the op that asked for it.

    A buffer comes from the operating system page by page and goes back there. Between two uses it is
    *idle*: on the pool's own account, and the first thing to go when the budget is short.
    """

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._account = ledger.account("pool")
        self._idle: OrderedDict[int, list[Pages]] = OrderedDict()
        self._closed = False
        ledger.evictors.append(self._evict)

    @property
    def idle_limit(self) -> int:
        """The most bytes that wait for their next use."""
        return self.ledger.shared.share // 8

    def empty(self, account: Account, shape: Any, dtype: Any) -> NDArray[Any]:
        """An uninitialised array on `account` until its last view is dropped."""
        dtype = np.dtype(dtype)
        size = (shape if isinstance(shape, int) else math.prod(shape)) * dtype.itemsize
        if size < SMALLEST or dtype.hasobject or self._closed:
            return np.empty(shape, dtype)
        room = whole_pages(size)
        with self.ledger._settled():
            room, pages = self._idle_pages(room)
        if pages is None:
            self.ledger.make_room(room)
            pages = map_whole(room)
        # Made straight from the pages: over an array in between, NumPy would let views of the lease
        # refer to that array instead, and the lease could not tell when the last one is gone.
        lease = Lease(room, np.uint8, *pages)

        def freed() -> None:
            self._take_back(room, pages)

        self.ledger.watch(lease, account, freed)
        view: NDArray[Any] = lease.view(np.ndarray)[:size].view(dtype)
        return view.reshape(shape)

    def _idle_pages(self, room: int) -> tuple[int, Pages | None]:
        """An idle buffer of so many bytes, or of somewhat more, with its size; None if there is none."""
        found = room if self._idle.get(room) else self._next_larger(room)
        if found is None:
            return room, None
        self._account._add(-found)
        return found, self._idle[found].pop()

    def _next_larger(self, room: int) -> int | None:
        """The smallest idle buffer that is not far too large: block sizes waver, and new pages are dear."""
        if 2 * self.ledger.shared._held > self.ledger.budget:
            return None  # what is too large would be missing elsewhere
        sizes = [have for have, stack in self._idle.items() if stack and room < have <= 2 * room]
        return min(sizes, default=None)

    def _take_back(self, room: int, pages: Pages) -> None:
        # Called with the ledger's lock held.
        if self._closed or room > self.idle_limit:
            return
        self._idle.setdefault(room, []).append(pages)
        self._idle.move_to_end(room)
        self._account._add(room)
        over = self._account.held - self.idle_limit
        if over > 0:
            self._evict(over)

    def _evict(self, size: int) -> int:
        """Unmap idle buffers, the sizes longest unused first, until `size` bytes are free."""
        freed = 0
        for room in list(self._idle):
            stack = self._idle[room]
            while stack and freed < size:
                stack.pop()
                freed += room
            if not stack:
                del self._idle[room]
        self._account._add(-freed)
        return freed

    def close(self) -> None:
        """Unmap every idle buffer; lent ones follow when the user drops them."""
        with self.ledger._settled():
            self._closed = True
            self._evict(self._account.held)
            self.ledger.forget_pool()


def return_free_memory() -> None:
    """Ask the C library to hand its free pages back to the operating system, where it can."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
