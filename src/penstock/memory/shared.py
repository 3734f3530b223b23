"""A budget: so many bytes, for one run or for all that share it.

All ledgers of one budget have one lock, held only for arithmetic, so that what they hold together is
exact at any moment. What may be larger or smaller is granted out of what nobody holds. Whoever holds
more than an equal share gives way to a run that has less. What one element of each run needs is left
to it by the others, and so is room for its blocks in flight.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING
from weakref import WeakSet

from penstock.errors import ClosedError
from penstock.memory.overhead import Overhead
from penstock.memory.sizes import show_bytes
from penstock.options import SharedMemory, parse_memory
from penstock.site import user_site

if TYPE_CHECKING:
    from penstock.memory.ledger import Ledger

FLIGHT = 8
"""The blocks in flight of a run take at most one part in so many of its share: see `block_bytes_for`."""


class Budget(SharedMemory):
    """So many bytes for all the runs that are given it, together.

    Give it to as many runs as you like, with `ds.iterate(memory=budget)` or `ps.Options(memory=budget)`.
    A run that needs little leaves the rest to the others; one that comes later gets its share.

    >>> import penstock as ps
    >>> budget = ps.Budget("64MiB")
    >>> ds = ps.Dataset.range(100).shuffle(50).batch(10)
    >>> with ds.iterate(memory=budget) as first, ds.iterate(memory=budget) as second:
    ...     together = budget.runs
    ...     pairs = sum(1 for _ in zip(first, second))
    >>> together, pairs, budget.peak <= budget.total
    (2, 10, True)
    """

    def __init__(self, memory: int | str) -> None:
        self._begin(parse_memory(memory, f"Budget(memory=) at {user_site()}"))

    @classmethod
    def of(cls, total: int) -> Budget:
        """A budget of so many bytes, as few as they may be."""
        made = cls.__new__(cls)
        made._begin(total)
        return made

    def _begin(self, total: int) -> None:
        self.total = total
        self._lock = threading.RLock()
        self._members: list[Ledger] = []
        self._held = 0
        self._peak = 0
        self._overhead = Overhead(self.total)
        self._looking = threading.Lock()
        self._freed = 0
        """The bytes of buffers that have gone back to the C library since it was last looked at."""
        _living.add(self)

    @property
    def runs(self) -> int:
        """How many runs share it now."""
        return len(self._members)

    @property
    def held(self) -> int:
        """The bytes that they hold now, together."""
        self._settle()
        return self._held

    @property
    def peak(self) -> int:
        """The most bytes that they have held at one time, together."""
        return self._peak

    def __repr__(self) -> str:
        return f"Budget({show_bytes(self.total).replace(' ', '')!r})"

    def __reduce__(self) -> tuple[Callable[[int], Budget], tuple[int]]:
        return Budget.of, (self.total,)  # in another process it is another one, of the same size

    @property
    def share(self) -> int:
        """What each run is entitled to."""
        return self.total // max(1, len(self._members))

    # What follows is for the ledgers, with the lock held unless they take it or say otherwise.

    def _join(self, ledger: Ledger) -> None:
        with self._lock:
            self._members.append(ledger)

    def _leave(self, ledger: Ledger) -> None:
        """The run is over; what it may still hold counts for nobody else."""
        if ledger in self._members:
            self._members.remove(ledger)
            self._held -= ledger.held

    def _add(self, size: int) -> None:
        self._held += size
        self._peak = max(self._peak, self._held)

    def _others(self, ledger: Ledger) -> int:
        """What the other runs hold and may not do without; idle buffers of theirs can go."""
        if len(self._members) < 2:
            return 0
        flight = self.share // FLIGHT
        return sum(
            max(other.held - other.idle + other.claimed, other.least + flight)
            for other in self._members
            if other is not ledger
        )

    def _needed_by_others(self, ledger: Ledger) -> int:
        """What one element of each op of the other runs needs."""
        return sum(other.least for other in self._members if other is not ledger)

    def _evict(self, ledger: Ledger, size: int) -> None:
        """Let go of idle buffers until there is room for `size` more: first those of `ledger`."""
        over = self._held + size - self.total
        if over <= 0:
            return
        for member in (ledger, *self._members):
            for evictor in member.evictors:
                if over > 0:
                    over -= evictor(over)

    def _look(self, freed: int) -> None:
        """So many bytes have gone back to the C library: look now and then how many it keeps."""
        self._freed += freed
        if self._freed > self._overhead.step and self._looking.acquire(blocking=False):
            try:
                self._freed = 0
                claimed = sum(member.claimed for member in self._members)
                self._overhead.look(self._held + claimed, self._lent())
            finally:
                self._looking.release()

    def _lent(self) -> int:
        return sum(member.lent for member in self._members)

    def _settle(self) -> bool:
        """Work off what has died in any of the runs; whether there was anything."""
        with self._lock:
            behind = [member for member in self._members if member.is_behind]
            for member in behind:
                member.settle()
        return bool(behind)

    def _ask_others(self, ledger: Ledger, lacking: Callable[[], int], *, fair: bool) -> bool:
        """Have other runs put rows on disk, those that hold most first. Without the lock.

        `lacking` says, with the lock held, how many bytes still lack. With `fair`, nobody gives more than
        what is above its share. Whether there was anybody to ask.
        """
        with self._lock:
            least = self.share if fair else 0
            members = [
                each for each in self._members if each is not ledger and each.reserved and each.held > least
            ]
        members.sort(key=lambda member: member.held, reverse=True)
        for member in members:
            for keeper in list(member.keepers):
                with self._lock:
                    size = min(lacking(), member.held - least)
                if size <= 0:
                    break
                with suppress(ClosedError):  # that run is just ending, and gives all of it back
                    keeper(size)
        return bool(members)


_living: WeakSet[Budget] = WeakSet()


def _renew() -> None:
    """In a process that was forked: no thread of the parent is here that would let go of a lock."""
    for budget in list(_living):
        budget._lock, budget._looking = threading.RLock(), threading.Lock()
        for member in budget._members:
            member._lock = budget._lock
        budget._members = []
        budget._held = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
