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

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.columns import size_of
from penstock.errors import BudgetError
from penstock.memory.overhead import Overhead
from penstock.memory.sizes import show_bytes

Remedy = str | Callable[[int], str]
"""What the user can change where an element does not fit, given the bytes that would."""
SMALLER = "That is one element: make elements smaller, with fewer parts or a narrower dtype."


class Lease(np.ndarray):
    """The root of all views of one pooled buffer: NumPy's chain of bases stops at a subclass."""


class Account:
    """What one op holds."""

    def __init__(self, ledger: Ledger, name: str) -> None:
        self.ledger = ledger
        self.name = name
        self.title = name
        """How messages call the op: by its name and the user's line."""
        self.held = 0
        self.peak = 0
        self.floor = 0
        """What one element needs here, as the op has said or as the largest one had that it made."""
        self.reserved = 0
        self.pinned = 0
        """Of the reserved bytes, those that the op can neither put on disk nor do without: see `hold`."""
        self.expected = 0
        self.flight_peak = 0
        """The most bytes of watched buffers at one time: what the op is going to need again."""

    def request(self, size: int) -> bool:
        """Reserve `size` bytes if the budget has room for them beside what is needed in flight."""
        ledger = self.ledger
        with ledger._settled():
            if ledger._spare() < size:
                return False
            if ledger.held + size > ledger.budget:
                ledger._evict(size)
            self._reserve(size)
            return True

    def require(self, size: int, remedy: Remedy) -> None:
        """Reserve `size` bytes more that the op cannot do without; `BudgetError` if they cannot fit."""
        with self.ledger._settled():
            self._need(self.reserved + size, remedy)
        self.ledger.make_room(size)
        with self.ledger._settled():
            self._reserve(size)

    def need(self, size: int, remedy: Remedy) -> None:
        """Say that one element needs `size` bytes in this op; `BudgetError` if it cannot fit.

        `remedy` is what the user can change: a sentence, or what makes one of the bytes that would fit.
        """
        if size > self.floor:
            with self.ledger._settled():
                self._need(size, remedy)
            self.ledger.make_room(size)

    def expect(self, size: int) -> None:
        """Say that about `size` bytes will be in flight: no reservation takes their room."""
        with self.ledger._settled():
            self.expected = max(self.expected, size)

    def over(self) -> int:
        """How many reserved bytes are to be given back, since more is in flight than before."""
        with self.ledger._settled():
            return min(self.reserved, max(0, -self.ledger._spare()))

    def _need(self, size: int, remedy: Remedy) -> None:
        self._fit(self.pinned + size, remedy)
        self.floor = max(self.floor, size)

    def _fit(self, size: int, remedy: Remedy) -> None:
        """`BudgetError` if `size` bytes do not fit beside what the other ops cannot do without."""
        ledger = self.ledger
        others = sum(
            account.floor + account.pinned for account in ledger.accounts.values() if account is not self
        )
        if size + others > ledger.budget:
            beside = f" beside the {show_bytes(others)} of the other ops" if others else ""
            change = remedy if isinstance(remedy, str) else remedy(max(ledger.budget - others, 0))
            raise BudgetError(
                f"{self.title} needs {show_bytes(size)} at once{beside}, but the memory "
                f"budget is {show_bytes(ledger.budget)}. {change} Or raise the budget: "
                f"ds.iterate(memory=...), ps.Options(memory=...) or PENSTOCK_MEMORY."
            )

    def release(self, size: int) -> None:
        """Give back `size` reserved bytes."""
        with self.ledger._settled():
            self._reserve(-size)

    def keep(self, block: Block) -> None:
        """Say that the buffers of `block` are reserved by number, so they are not counted again."""
        with self.ledger._settled():
            for buffer in block.buffers():
                self.ledger._keep(owner_of(buffer), self)

    def unkeep(self, block: Block) -> None:
        """Say that the bytes of `block` are released; if others have views, it is watched now."""
        with self.ledger._settled():
            for buffer in block.buffers():
                self.ledger._unkeep(owner_of(buffer))

    def disown(self, block: Block) -> None:
        """Say that the kept buffers of `block` are on no account of this run any more."""
        with self.ledger._settled():
            for buffer in block.buffers():
                self.ledger._watched.pop(id(owner_of(buffer)), None)

    def hold(self, array: NDArray[Any], remedy: Remedy) -> int:
        """Reserve the bytes of an array that stays until `let_go`, whoever has views of it meanwhile.

        Gives that number of bytes, 0 for an array that is held already; `BudgetError` if it cannot fit.
        """
        owner, ledger = owner_of(array), self.ledger
        with ledger._settled():
            entry = ledger._watched.get(id(owner))
            if (entry is not None and entry.kept) or id(owner) in ledger._foreign:
                return 0
            size = buffer_bytes(owner)
            self._fit(self.floor + self.pinned + size, remedy)
            self.pinned += size
            ledger._keep(owner, self)
            self._reserve(size)
        ledger.make_room(0)
        return size

    def let_go(self, array: NDArray[Any], size: int) -> None:
        """Give back what `hold` has reserved; an array of which others have views is watched now."""
        with self.ledger._settled():
            self.pinned -= size
            self._reserve(-size)
            self.ledger._unkeep(owner_of(array))

    def adopt(self, block: Block) -> None:
        """Watch the buffers of `block` that nobody watches yet, on this account.

        `BudgetError` if one of the elements that the op has made of them cannot fit.
        """
        ledger = self.ledger
        if ledger._knows(block):
            return
        with ledger._settled():
            new = sum(ledger._watch(owner_of(buffer), self) for buffer in block.buffers())
            if new <= self.floor * block.rows:
                return
            # A buffer may be larger than the rows that are seen of it here.
            one = min(new, block.nbytes) // block.rows
            if one <= self.floor:
                return
            self._need(one, SMALLER)
        ledger.make_room(0)

    def take_over(self, block: Block) -> None:
        """Move the watched buffers of `block` from other accounts to this one."""
        with self.ledger._settled():
            for buffer in block.buffers():
                entry = self.ledger._watched.get(id(owner_of(buffer)))
                if entry is not None and not entry.lent and entry.account is not self:
                    entry.account._add(-entry.size)
                    entry.account = self
                    self._add(entry.size)

    def _add(self, size: int) -> None:
        self.held += size
        self.peak = max(self.peak, self.held)
        self.flight_peak = max(self.flight_peak, self.held - self.reserved)
        self.ledger._add(size)

    def _reserve(self, size: int) -> None:
        self.reserved += size
        self.ledger.reserved += size
        self._add(size)


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
    """All accounts of a run, and its budget."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
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
        self._overhead = Overhead(budget)
        self._freed = 0
        """The bytes of buffers that have gone back to the C library since it was last looked at."""
        self._lock = threading.RLock()
        self._watched: dict[int, _Entry] = {}
        self._foreign: dict[int, weakref.ref[NDArray[Any]]] = {}
        """The user's own arrays: for as long as they live, since an id is used again."""
        # Buffers die at any moment, also in the middle of an update on the same thread. So their
        # callbacks only leave a note here; it is worked off before the next update or reading.
        self._dead: deque[int] = deque()

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
        with self._settled():
            if self._room(account) < size:
                return False
            self.claimed += size
            return True

    def unclaim(self, size: int) -> None:
        """What was claimed is made, and counts by itself from now on."""
        with self._lock:
            self.claimed -= size

    def make_room(self, size: int) -> None:
        """See to it that `size` more bytes fit the budget, if what is idle or reserved can go."""
        with self._settled():
            if self.held + size > self.budget:
                self._evict(size)
            over = self._over(size)
            keepers = list(self.keepers) if over > 0 else []
        # Without the lock: a keeper has one of its own, and does not wait for it.
        for keeper in keepers:
            keeper(over)
            with self._settled():
                over = self._over(size)
            if over <= 0:
                return

    def _over(self, size: int) -> int:
        """What is to go before `size` more bytes, and all that is needed in flight, fit."""
        return min(max(self.held + size - self.budget, -self._spare()), self.reserved)

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
            self._overhead.end(self.held, self.lent)

    def lent_arrays(self) -> list[NDArray[Any]]:
        """The buffers that the user has now."""
        with self._settled():
            arrays = [entry.ref() for entry in self._watched.values() if entry.lent and not entry.kept]
        return [array for array in arrays if array is not None]

    def _settled(self) -> threading.RLock:
        """The lock, with the notes worked off once it is held; for a `with` statement."""
        with self._lock:
            while self._dead:
                entry = self._watched.pop(self._dead.popleft(), None)
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
                    self._freed += entry.size
                    if self._freed > self._overhead.step:
                        self._freed = 0
                        self._overhead.look(self.held + self.claimed, self.lent)
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
        dead, key = self._dead, id(owner)
        return weakref.ref(owner, lambda _: dead.append(key))

    def _spare(self) -> int:
        """What the budget has beside all that is reserved and all that is needed in flight."""
        pool = self.accounts.get("pool")
        flight = sum(
            # What fills a block is complete only with the row that goes over its size.
            max(account.flight_peak, account.expected + account.floor)
            for account in self.accounts.values()
            if account is not pool  # what is idle there goes when it is asked for
        )
        return self.budget - self.reserved - flight

    def _room(self, account: Account) -> int:
        kept_free = sum(
            max(other.floor - other.held, 0) for other in self.accounts.values() if other is not account
        )
        return self.budget - self.held - self.claimed - kept_free

    def _evict(self, size: int) -> None:
        """Let go of idle buffers until there is room for `size` more."""
        over = self.held + size - self.budget
        for evictor in self.evictors:
            if over > 0:
                over -= evictor(over)

    def _add(self, size: int) -> None:
        self.held += size
        self.peak = max(self.peak, self.held)


def owner_of(array: NDArray[Any]) -> NDArray[Any]:
    """The array at the root of a view: the one whose death frees the memory."""
    base = array.base
    while isinstance(base, np.ndarray) and not isinstance(array, Lease):
        array, base = base, base.base
    return array


def fewer(argument: str, one: int) -> Callable[[int], str]:
    """The remedy where `argument` says how many parts, each of `one` bytes, make an element."""

    def remedy(room: int) -> str:
        most = room // max(one, 1)
        if most < 1:
            return f"Not even one of {show_bytes(one)} fits: make the elements smaller before it."
        return f"A {argument} of at most {most} fits."

    return remedy


def buffer_bytes(array: NDArray[Any]) -> int:
    """The bytes of a buffer; for references, nearly those of what they refer to."""
    if array.dtype == object:
        return array.nbytes + sum(size_of(item) for item in array.flat)
    return array.nbytes
