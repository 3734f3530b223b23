"""What one op of a run holds: asked for, taken, watched, given back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.errors import BudgetError
from penstock.memory.buffers import buffer_bytes, owner_of
from penstock.memory.sizes import show_bytes

if TYPE_CHECKING:
    from penstock.memory.ledger import Ledger

Remedy = str | Callable[[int], str]
"""What the user can change where an element does not fit, given the bytes that would."""
SMALLER = "That is one element: make elements smaller, with fewer parts or a narrower dtype."


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
        self._at_most = threading.local()

    def request(self, size: int) -> bool:
        """Reserve `size` bytes if the budget has room for them beside what is needed in flight."""
        ledger = self.ledger
        return self._granted(size) or (
            ledger.reclaim(size, lambda: size - ledger._spare()) and self._granted(size)
        )

    def _granted(self, size: int) -> bool:
        ledger = self.ledger
        with ledger._settled():
            if ledger._spare() < size:
                return False
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
        self.ledger.least += max(size - self.floor, 0)
        self.floor = max(self.floor, size)

    def _fit(self, size: int, remedy: Remedy) -> None:
        """`BudgetError` if `size` bytes do not fit beside what the other ops cannot do without."""
        ledger = self.ledger
        ops = ledger.least - self.floor - self.pinned
        runs = ledger.shared._needed_by_others(ledger)
        others = ops + runs
        if size + others > ledger.budget:
            words = [f"the {show_bytes(ops)} of the other ops"] if ops else []
            if runs:
                words.append(f"the {show_bytes(runs)} of {ledger.shared.runs - 1} other runs that share it")
            beside = f" beside {' and '.join(words)}" if words else ""
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
            most = getattr(self._at_most, "bytes", None)
            if most is not None and self.pinned + size > most:
                raise BudgetError(
                    f"{self.title}: an array of {show_bytes(size)} beside {show_bytes(self.pinned)} "
                    f"that are held is more than {show_bytes(most)}."
                )
            self._fit(self.floor + self.pinned + size, remedy)
            self.pinned += size
            ledger.least += size
            ledger._keep(owner, self)
            self._reserve(size)
        ledger.make_room(0)
        return size

    @contextmanager
    def holding_at_most(self, size: int) -> Iterator[None]:
        """Within it, this thread may `hold` arrays only while no more than `size` bytes of all are held."""
        before = getattr(self._at_most, "bytes", None)
        self._at_most.bytes = size if before is None else min(size, before)
        try:
            yield
        finally:
            self._at_most.bytes = before

    def let_go(self, array: NDArray[Any], size: int) -> None:
        """Give back what `hold` has reserved; an array of which others have views is watched now."""
        with self.ledger._settled():
            self.pinned -= size
            self.ledger.least -= size
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


def fewer(argument: str, one: int) -> Callable[[int], str]:
    """The remedy where `argument` says how many parts, each of `one` bytes, make an element."""

    def remedy(room: int) -> str:
        most = room // max(one, 1)
        if most < 1:
            return f"Not even one of {show_bytes(one)} fits: make the elements smaller before it."
        return f"A {argument} of at most {most} fits."

    return remedy
