"""The state that `scan` and `reduce` carry from element to element."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.blocks.build import LeafError, as_leaf
from penstock.blocks.columns import size_of
from penstock.blocks.spec import dtype_name, spec_of
from penstock.blocks.structure import structure_of
from penstock.errors import ArgumentTypeError, DataError
from penstock.memory.account import Account
from penstock.ops.parts.coded import loaded_leaf, saved_leaf

SAVED = 8 << 10
"""Larger states are not saved: they are computed again."""


class Carry:
    """A state whose structure and dtypes stay those of the initial one."""

    def __init__(self, initial: Any, label: str, where: str, account: Account | None = None) -> None:
        self._label = label
        self._where = where
        self._account = account
        self._size = 0
        self.structure = structure_of(initial, top=False)
        try:
            leaves = [as_leaf(leaf) for leaf in self.structure.flatten(initial)]
        except LeafError as error:
            raise ArgumentTypeError(f"{where}: the initial state has {error}.") from None
        # The function may change its state in place; the user's arrays are for the next epoch too.
        leaves = [leaf.copy() if isinstance(leaf, np.ndarray) else leaf for leaf in leaves]
        self._dtypes = [spec_of(leaf).dtype for leaf in leaves]
        self.value = self.structure.unflatten(leaves)
        self.keep(self.value)

    def keep(self, value: Any) -> None:
        """Make `value`, which has been checked, the state, and its bytes the account's."""
        self.value = value
        if self._account is None:
            return
        size = sum(map(size_of, self.structure.flatten(value)))
        if size > self._size:
            self._account.require(size - self._size, "Carry a smaller state.")
        elif size < self._size:
            self._account.release(self._size - size)
        self._size = size

    @property
    def saved(self) -> list[Any] | None:
        """The leaves of the state as plain data; None if they are too large for that, or of another kind."""
        if self._size > SAVED:
            return None
        leaves = [saved_leaf(leaf) for leaf in self.structure.flatten(self.value)]
        return None if None in leaves else leaves

    def load(self, saved: list[Any]) -> None:
        """Make what was saved the state."""
        self.keep(self.structure.unflatten([loaded_leaf(leaf) for leaf in saved]))

    def drop(self) -> None:
        """Let go of the state."""
        self.value = None
        if self._account is not None:
            self._account.release(self._size)
            self._size = 0

    def checked(self, new: Any, number: int) -> Any:
        """The next state, fit to be kept; `DataError` if it is not like the initial one."""
        try:
            leaves = [as_leaf(leaf) for leaf in self.structure.flatten(new)]
        except LeafError as error:
            message = f"{self._where}: the new state for element {number} has {error}."
            raise DataError(message, op=self._label, number=number) from None
        except TypeError as error:
            raise self._wrong(f"{error}", number) from None
        for i, leaf in enumerate(leaves):
            came = leaf.dtype if isinstance(leaf, np.generic) else spec_of(leaf).dtype
            if came != self._dtypes[i]:
                wanted, path = dtype_name(self._dtypes[i]), self.structure.paths()[i]
                raise self._wrong(f"expected {wanted} at state{path}, got {dtype_name(came)}", number)
        return self.structure.unflatten(leaves)

    def _wrong(self, why: str, number: int) -> DataError:
        return DataError(
            f"{self._where}: the new state for element {number} is not like the initial state: "
            f"{why}. Give the initial state the dtypes that the function returns.",
            op=self._label,
            number=number,
        )
