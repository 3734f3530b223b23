"""The arrays of a declaration: the user's own, or made by a user's function while the run goes on."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.errors import BudgetError
from penstock.graph.running import Context
from penstock.memory.buffers import owner_of

FEWER = (
    "Those are the arrays of all datasets that its function has returned and that are open at once: return "
    "smaller ones, or open fewer datasets at once."
)


class DeclaredArrays:
    """Tells the ledger which arrays are the user's own, and holds the others until `close`.

    A declaration that is older than the run has only the user's own arrays. One that was `born` since, in
    a user's function, has made an array if nobody but the declaration has it.
    """

    def __init__(self, leaves: Sequence[Any], born: float, context: Context) -> None:
        self._account = context.account
        self._held: list[tuple[NDArray[Any], int]] = []
        made = [born > context.ledger.began and _is_made(leaves, i) for i in range(len(leaves))]
        try:
            for leaf, is_made in zip(leaves, made, strict=True):
                if is_made:
                    self._held.append((leaf, self._account.hold(leaf, FEWER)))
                elif isinstance(leaf, np.ndarray):
                    context.ledger.foreign(leaf)
        except BudgetError:
            self.close()
            raise

    def close(self) -> None:
        """Let go of what was held."""
        while self._held:
            array, size = self._held.pop()
            if size:
                self._account.let_go(array, size)


def _is_made(leaves: Sequence[Any], i: int) -> bool:
    if not isinstance(leaves[i], np.ndarray) or _others(leaves, i) > _NOBODY:
        return False
    owner = owner_of(leaves[i])
    # What is neither NumPy's nor Python's own memory, such as a mapped file, is not ours to count.
    return bool(owner.flags.owndata) or (_is_bytes(owner.base) and _others_of_base(owner) <= _NOBODY)


def _others(leaves: Sequence[Any], i: int) -> int:
    """The references to the owner of an array's memory, but for those of the declaration."""
    owner = owner_of(leaves[i])
    own = sum(leaf is owner or (isinstance(leaf, np.ndarray) and leaf.base is owner) for leaf in leaves)
    return sys.getrefcount(owner) - own


def _is_bytes(base: Any) -> bool:
    return type(base) is bytes


def _others_of_base(owner: NDArray[Any]) -> int:
    base = owner.base
    return sys.getrefcount(base) - 1


_NOBODY = min(_others((np.empty(1),), 0) for _ in range(100))
"""What is counted where nobody else has the array, which differs between versions of Python."""
