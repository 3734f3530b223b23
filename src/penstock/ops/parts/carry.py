"""The state that `scan` and `reduce` carry from element to element."""

from __future__ import annotations

from typing import Any

from penstock.blocks.build import as_leaf
from penstock.blocks.spec import dtype_name, spec_of
from penstock.blocks.structure import structure_of
from penstock.errors import DataError


class Carry:
    """A state whose structure and dtypes stay those of the initial one."""

    def __init__(self, initial: Any, label: str) -> None:
        self._label = label
        self.structure = structure_of(initial, top=False)
        leaves = [as_leaf(leaf) for leaf in self.structure.flatten(initial)]
        self._dtypes = [spec_of(leaf).dtype for leaf in leaves]
        self.value = self.structure.unflatten(leaves)

    def checked(self, new: Any, number: int) -> Any:
        """The next state, fit to be the `value`; `DataError` if it is not like the initial one."""
        try:
            leaves = [as_leaf(leaf) for leaf in self.structure.flatten(new)]
        except TypeError as error:
            raise self._wrong(f"{error}", number) from None
        for path, leaf, dtype in zip(self.structure.paths(), leaves, self._dtypes, strict=True):
            came = spec_of(leaf).dtype
            if came != dtype:
                raise self._wrong(
                    f"expected {dtype_name(dtype)} at state{path}, got {dtype_name(came)}", number
                )
        return self.structure.unflatten(leaves)

    def _wrong(self, why: str, number: int) -> DataError:
        return DataError(
            f"{self._label}: the new state for element {number} is not like the initial state: "
            f"{why}. Give the initial state the dtypes that the function returns.",
            op=self._label,
            number=number,
        )
