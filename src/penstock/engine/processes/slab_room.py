"""The slabs through which rows go to workers and come back, and their room in the budget."""

from __future__ import annotations

from penstock.engine.processes.link import Link
from penstock.engine.processes.slab import STEP, Slab
from penstock.errors import BudgetError
from penstock.memory.account import Account
from penstock.memory.sizes import show_bytes


class SlabRoom:
    """What workers share with this process, reserved before it is made."""

    def __init__(self, account: Account, where: str) -> None:
        self._account = account
        self._where = where
        self._reserved = 0

    def reserve(self, size: int) -> bool:
        """Whether the budget has so much room; if so, it is taken."""
        if not self._account.request(size):
            return False
        self._reserved += size
        return True

    def reserve_functions(self, size: int) -> None:
        """Take so much for what functions refer to; `BudgetError` where there is no room."""
        if not self.reserve(size):
            raise BudgetError(
                f"{self._where}: what the function refers to takes {show_bytes(size)} in memory shared with "
                f"worker processes, which the memory budget has no room for. Raise the budget, use "
                f"executor='threads', or open such arrays from a file inside the function (np.load with "
                f"mmap_mode='r')."
            )

    def release(self, size: int) -> None:
        """Give so much back."""
        self._reserved -= size
        self._account.release(size)

    def release_all(self) -> None:
        """Give everything back."""
        self.release(self._reserved)

    def furnish(self, link: Link) -> None:
        """Make the first slabs of a worker, if there is room."""
        if self.reserve(2 * STEP):
            # They are the link's before it is told: it may be lost by now, and gives back what it has.
            try:
                link.given = Slab.make(STEP)
                link.made = link.untold(STEP)
            except BaseException:
                self.release(STEP * ((link.given is None) + (link.made is None)))
                raise
            link.tell(link.made)
            link.tell_given()

    def fits(self, link: Link, which: str, size: int) -> bool:
        """Whether a slab has that many bytes, having grown if the budget has room."""
        if link.given is None:
            self.furnish(link)
        slab: Slab | None = getattr(link, which)
        if slab is None:
            return False
        if slab.size >= size:
            return True
        if not self.reserve(size - slab.size):
            return False
        was = slab.size
        try:
            slab.grow(size)
        except BaseException:
            self.release(size - was)
            raise
        return True

    def replace_given(self, link: Link) -> None:
        """Give the worker another slab to read rows from: the one before is its own now."""
        assert link.given is not None
        size = link.given.size
        link.given.close()
        link.given = Slab.make(size)
        link.tell_given()
