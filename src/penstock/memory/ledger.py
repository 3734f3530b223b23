"""The one place that knows how many bytes a run holds, and which op holds them.

Bytes come to an account in two ways. A *reservation* is asked for and given back by number: the slots
of a shuffle, a cache. A *buffer* is an array that is watched: it is on its op's account from the moment
it exists until its last view is dropped, whoever drops it. A buffer handed to the user is *lent*: it
leaves the budget but stays on the ledger.

Nobody waits for bytes. What may be larger or smaller asks (`request`) and makes do with a no; what one
element needs is taken (`require`) or raises `BudgetError`.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Any

from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.memory.account import Account
from penstock.memory.buffers import buffer_bytes, owner_of
from penstock.memory.noted import NotedRef
from penstock.memory.shared import Budget


class _Entry:
    """One watched buffer; a kept one has a size of 0, since its bytes are reserved."""

    __slots__ = ("account", "elements", "freed", "kept", "lent", "ref", "size")

    def __init__(self, ref: Any, account: Account, size: int) -> None:
        self.ref = ref
        self.account = account
        self.size = size
        self.lent = False
        self.kept = False
        self.elements = 0
        self.freed: Callable[[], None] | None = None


class Ledger:
    """All accounts of a run, and its budget, which other runs may share."""

    def __init__(self, budget: int | Budget) -> None:
        self.shared = budget if isinstance(budget, Budget) else Budget.of(budget)
        self.began = perf_counter()
        """When the run began: what was made before is not its own."""
        self.accounts: dict[str, Account] = {}
        self.held = 0
        self.reserved = 0
        self.peak = 0
        self.lent = 0
        self.lent_peak = 0
        self.lent_elements = 0
        self.claimed = 0
        """What is about to be made ahead: held by nobody yet, and promised to nobody else."""
        self.evictors: list[Callable[[int], int]] = []
        self.keepers: list[Callable[[int], None]] = []
        """Those who can give back reserved bytes when asked, by putting rows on disk."""
        self.least = 0
        """What one element of each op needs, and what is pinned: nobody else may have that room."""
        self._lock = self.shared._lock
        self._watched: dict[int, _Entry] = {}
        self._foreign: dict[int, weakref.ref[NDArray[Any]]] = {}
        """The user's own arrays: for as long as they live, since an id is used again."""
        # Buffers die at any moment, also in the middle of an update on the same thread. So their
        # callbacks only leave a note here; it is worked off before the next update or reading.
        self._dead: deque[NotedRef] = deque()
        self.shared._join(self)

    @property
    def budget(self) -> int:
        """The most that may be held, by all runs that share it."""
        return self.shared.total

    @property
    def is_behind(self) -> bool:
        """Whether buffers have died that it still counts."""
        return bool(self._dead)

    @property
    def idle(self) -> int:
        """The bytes in buffers that wait for their next use."""
        pool = self.accounts.get("pool")
        return 0 if pool is None else pool.held

    def account(self, name: str) -> Account:
        """The account of that name, opened when it is first asked for."""
        with self._lock:
            if name not in self.accounts:
                self.accounts[name] = Account(self, name)
            return self.accounts[name]

    def foreign(self, array: NDArray[Any]) -> None:
        """Say that `array` is the user's own, kept anyway, and on no account."""
        owner, foreign = owner_of(array), self._foreign
        key = id(owner)
        if key not in foreign:
            foreign[key] = weakref.ref(owner, lambda _: foreign.pop(key, None))

    def lend(self, block: Block) -> None:
        """Say that the user now has `block`: its buffers leave the budget until they are dropped."""
        elements = block.rows
        with self._settled():
            for buffer in block.buffers():
                entry = self._watched.get(id(owner_of(buffer)))
                if entry is not None and not entry.lent:
                    entry.lent = True
                    # A block's rows are counted once, with the first of its buffers.
                    entry.elements, elements = elements, 0
                    if not entry.kept:
                        entry.account._add(-entry.size)
                        self._lend(entry)

    def behind(self, block: Block) -> int:
        """The bytes of the buffers that `block` has views of and keeps alive, but for the user's own."""
        with self._settled():
            owners = {id(owner): owner for owner in map(owner_of, block.buffers())}
            return sum(owner.nbytes for key, owner in owners.items() if key in self._watched)

    def room(self, account: Account) -> int:
        """The bytes that `account` could still have in flight."""
        with self._settled():
            return self._room(account)

    def claim(self, account: Account, size: int) -> bool:
        """Keep `size` bytes of room for what `account` makes next, if there is so much."""
        return self._claimed(account, size) or (
            self.reclaim(size, lambda: size - self._room(account)) and self._claimed(account, size)
        )

    def _claimed(self, account: Account, size: int) -> bool:
        with self._settled():
            if self._room(account) < size:
                return False
            self.claimed += size
            return True

    def reclaim(self, size: int, lacking: Callable[[], int]) -> bool:
        """Ask other runs for what they have above their share, if `size` more is within this run's.

        Whether there was anybody to ask.
        """
        shared = self.shared
        if shared.runs < 2 or self.held + self.claimed + size > shared.share:
            return False
        return shared._settle() | shared._ask_others(self, lacking, fair=True)

    def unclaim(self, size: int) -> None:
        """What was claimed is made, and counts by itself from now on."""
        with self._lock:
            self.claimed -= size

    def make_room(self, size: int) -> None:
        """See to it that `size` more bytes fit the budget, if what is idle or reserved can go."""
        with self._settled():
            self._evict(size)
            over = self._over(size)
            keepers = list(self.keepers) if over > 0 else []
        # Without the lock: a keeper has one of its own, and does not wait for it.
        for keeper in keepers:
            keeper(over)
            with self._settled():
                over = self._over(size)
            if over <= 0:
                break
        shared = self.shared
        if shared.runs > 1 and shared._held + size > self.budget:
            shared._settle()
            shared._ask_others(self, lambda: shared._held + size - self.budget, fair=False)

    def _over(self, size: int) -> int:
        """What is to go before `size` more bytes, and all that is needed in flight, fit."""
        return min(max(self.shared._held + size - self.budget, -self._spare()), self.reserved)

    def settle(self) -> None:
        """Work off the notes of buffers that have died, so that the figures are up to date."""
        with self._settled():
            pass

    def watch(self, owner: NDArray[Any], account: Account, freed: Callable[[], None]) -> None:
        """Watch a pooled buffer; `freed` is called when its last view has been dropped."""
        with self._settled():
            self._watch(owner, account)
            self._watched[id(owner)].freed = freed

    def forget_pool(self) -> None:
        """Leave every pooled buffer to its views alone: the last one dropped frees the memory."""
        with self._settled():
            self.evictors.clear()
            for entry in self._watched.values():
                entry.freed = None

    def leave(self) -> None:
        """The run is over: the budget is there for the others alone. May be called more than once."""
        with self._settled():
            shared, self.shared = self.shared, Budget.of(self.budget)
            self.shared._held = self.held
            held, lent = shared._held, shared._lent()
            shared._leave(self)
        shared._overhead.end(held, lent)

    def lent_arrays(self) -> list[NDArray[Any]]:
        """The buffers that the user has now."""
        with self._settled():
            arrays = [entry.ref() for entry in self._watched.values() if entry.lent and not entry.kept]
        return [array for array in arrays if array is not None]

    def _settled(self) -> threading.RLock:
        """The lock, with the notes worked off once it is held; for a `with` statement."""
        freed = 0
        with self._lock:
            while self._dead:
                entry = self._watched.pop(self._dead.popleft().key, None)
                if entry is None:
                    continue
                if entry.kept:
                    pass
                elif entry.lent:
                    self.lent -= entry.size
                    self.lent_elements -= entry.elements
                else:
                    entry.account._add(-entry.size)
                if entry.freed is not None:
                    entry.freed()
                else:
                    freed += entry.size
        if freed:
            self.shared._look(freed)  # without the lock: it may take a while
        return self._lock

    def _knows(self, block: Block) -> bool:
        """Whether all buffers are surely watched, or the user's own. A look without the lock."""
        if self._dead:  # an id may be that of a buffer that has died
            return False
        for buffer in block.buffers():
            key = id(owner_of(buffer))
            if key not in self._watched and key not in self._foreign:
                return False
        return True

    def _watch(self, owner: NDArray[Any], account: Account) -> int:
        """The bytes that are watched now, and were not before."""
        key = id(owner)
        if key in self._watched or key in self._foreign:
            return 0
        size = buffer_bytes(owner)
        self._watched[key] = _Entry(self._ref(owner), account, size)
        self._evict(size)  # idle buffers give way
        account._add(size)
        return size

    def _keep(self, owner: NDArray[Any], account: Account) -> None:
        key = id(owner)
        if key in self._foreign:
            return
        entry = self._watched.get(key)
        if entry is None:
            entry = self._watched[key] = _Entry(self._ref(owner), account, 0)
        elif entry.lent and not entry.kept:
            self.lent -= entry.size
            self.lent_elements -= entry.elements
        elif not entry.lent:
            entry.account._add(-entry.size)
        entry.account, entry.size, entry.kept = account, 0, True

    def _unkeep(self, owner: NDArray[Any]) -> None:
        entry = self._watched.get(id(owner))
        if entry is None or not entry.kept:
            return
        entry.size, entry.kept = buffer_bytes(owner), False
        if entry.lent:
            self._lend(entry)
        else:
            entry.account._add(entry.size)

    def _lend(self, entry: _Entry) -> None:
        self.lent += entry.size
        self.lent_elements += entry.elements
        self.lent_peak = max(self.lent_peak, self.lent)

    def _ref(self, owner: NDArray[Any]) -> weakref.ref[NDArray[Any]]:
        ref = NotedRef(owner, self._dead.append)
        ref.key = id(owner)
        return ref

    def _spare(self) -> int:
        """What the budget has beside all that is reserved and all that is needed in flight."""
        pool = self.accounts.get("pool")
        flight = sum(
            # What fills a block is complete only with the row that goes over its size.
            max(account.flight_peak, account.expected + account.floor)
            for account in self.accounts.values()
            if account is not pool  # what is idle there goes when it is asked for
        )
        return self.budget - self.reserved - flight - self.shared._others(self)

    def _room(self, account: Account) -> int:
        kept_free = sum(
            max(other.floor - other.held, 0) for other in self.accounts.values() if other is not account
        )
        return self.budget - self.held - self.claimed - kept_free - self.shared._others(self)

    def _evict(self, size: int) -> None:
        """Let go of idle buffers until there is room for `size` more."""
        self.shared._evict(self, size)

    def _add(self, size: int) -> None:
        self.held += size
        self.peak = max(self.peak, self.held)
        self.shared._add(size)
