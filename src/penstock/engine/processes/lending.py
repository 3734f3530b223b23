"""Results that stay where a worker has laid them: its slab goes along with the block, and comes back.

To copy them would be one more pass over all that the workers make, in the one process that hands it on.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial

import numpy as np
from numpy.typing import NDArray

from penstock.engine.processes.link import Link
from penstock.engine.processes.slab import HEAD, Slab
from penstock.memory.account import Account
from penstock.memory.ledger import Ledger

LEAST = 128 << 10
"""Fewer bytes are copied: a slab for them takes longer than that."""
MOST = 4
"""So many slabs of each worker are out or wait for their next use, at most: who keeps all elements is to have
neither as many slabs nor as many descriptors."""

IDLE = 8
"""All slabs that wait have no more than this part of the budget."""


class Lending:
    """The slabs of a run's workers in which blocks lie that were handed on.

    Slabs that wait are reserved, and go when somebody else needs the room; those that lie in blocks are
    watched, like any buffer.
    """

    def __init__(self, ledger: Ledger, account: Account) -> None:
        self._ledger = ledger
        self._account = account
        self._links: list[Link] = []
        with ledger._settled():
            ledger.evictors.append(self._evict)

    def begin(self, link: Link) -> None:
        """There is a new worker."""
        with self._ledger._settled():
            self._links.append(link)

    def lend(self, link: Link, size: int) -> NDArray[np.uint8] | None:
        """The bytes in a worker's slab, to be kept for as long as somebody likes, if they are so many.

        The worker gets another slab. None if there is no room for one: then they are to be copied.
        """
        slab = link.made
        assert slab is not None
        if size < LEAST or 2 * size < slab.size:
            return None
        other = self._other(link, slab.size)
        if other is None:
            return None
        lease = slab.lease()
        self._ledger.watch(lease, self._account, partial(self._back, link, slab, forks.count))
        self._account.release(slab.size)
        link.out.add(slab)
        link.made = other
        return lease.view(np.ndarray)[HEAD:]

    def _other(self, link: Link, size: int) -> Slab | None:
        with suppress(IndexError):  # it may go in between
            return link.spare.pop()
        if len(link.out) >= MOST or not self._account.request(size):
            return None
        try:
            return link.slab(size)
        except BaseException:
            self._account.release(size)
            raise

    def _back(self, link: Link, slab: Slab, forked: int) -> None:
        # Called with the ledger's lock held, when the last view of a slab has been dropped.
        link.out.discard(slab)
        if link.dismissed:
            return
        if forked != forks.count:  # a child of this process may still look at it
            slab.close()
            link.dropped.append(slab.number)
        elif self._idle + slab.size > self._ledger.shared.share // IDLE:
            slab.discard()
            link.dropped.append(slab.number)
        else:
            self._account._reserve(slab.size)
            link.spare.append(slab)

    @property
    def _idle(self) -> int:
        """The bytes of slabs that wait for their next use."""
        return sum(slab.size for link in self._links for slab in link.spare)

    def _evict(self, size: int) -> int:
        """Let go of slabs that wait, until so many bytes are free."""
        freed = 0
        for link in self._links:
            while link.spare and freed < size:
                slab = link.spare.pop()
                freed += slab.size
                slab.discard()
                link.dropped.append(slab.number)
        self._account._reserve(-freed)
        return freed

    def end(self, link: Link) -> None:
        """A worker is gone; blocks that lie in its slabs stay, and go with their last view."""
        with self._ledger._settled():
            link.dismissed = True
            for slab in link.spare:
                self._account._reserve(-slab.size)
                slab.close()
            link.spare.clear()
            for slab in link.out:
                slab.make_private()  # the worker is gone: children that are forked from now on get their own
                slab.close()
            link.out.clear()
            if link in self._links:
                self._links.remove(link)

    def close(self) -> None:
        """All workers are gone."""
        with self._ledger._settled(), suppress(ValueError):  # the end of a run forgets them all
            self._ledger.evictors.remove(self._evict)


class _Forks:
    """How often this process has forked."""

    def __init__(self) -> None:
        self.count = 0
        os.register_at_fork(before=self._fork, after_in_parent=self._fork)

    def _fork(self) -> None:
        self.count += 1


forks = _Forks()
