"""A block: many consecutive elements of one structure, held as columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.columns import Column
from penstock.blocks.spec import Spec
from penstock.blocks.structure import Structure
from penstock.kernels.spans import Empty

if TYPE_CHECKING:  # worker processes start without it
    from penstock.blocks.origin import Origin, Place


class Block:
    """Many consecutive elements as columns; rows are elements.

    `numbers` are the rows' element numbers at an op further up, where an optimizer's pass has moved
    a shuffle in front of an op that needs them; otherwise None. `origin` says where in which files the
    rows were, as far as that is known.
    """

    __slots__ = ("columns", "numbers", "origin", "rows", "structure")

    def __init__(
        self,
        structure: Structure,
        columns: Sequence[Column],
        rows: int,
        numbers: NDArray[np.int64] | None = None,
        origin: Origin | None = None,
    ) -> None:
        self.structure = structure
        self.columns = tuple(columns)
        self.rows = rows
        self.numbers = numbers
        self.origin = origin

    @property
    def nbytes(self) -> int:
        """The bytes that its rows take."""
        return sum(column.nbytes for column in self.columns)

    def slice(self, start: int, stop: int) -> Block:
        """The rows from `start` up to `stop`, as a view."""
        if start == 0 and stop == self.rows:
            return self
        columns = [column.slice(start, stop) for column in self.columns]
        numbers = None if self.numbers is None else self.numbers[start:stop]
        origin = None if self.origin is None else self.origin.slice(start)
        return Block(self.structure, columns, stop - start, numbers, origin)

    def take(self, index: NDArray[np.int64], empty: Empty = np.empty) -> Block:
        """The rows of these numbers, copied."""
        columns = [column.take(index, empty) for column in self.columns]
        numbers = None if self.numbers is None else self.numbers[index]
        origin = None if self.origin is None else self.origin.take(index)
        return Block(self.structure, columns, len(index), numbers, origin)

    def element(self, row: int) -> Any:
        """One row as the element that a user sees."""
        return self.structure.unflatten([column.item(row) for column in self.columns])

    def elements(self) -> Iterator[Any]:
        """All rows as elements, in order."""
        if self.structure.is_leaf:
            return iter(self.columns[0].items())
        if not self.columns:
            return iter([self.structure.unflatten(()) for _ in range(self.rows)])
        pack = self.structure.packer()
        return map(pack, zip(*[column.items() for column in self.columns], strict=True))

    def spec(self) -> Spec:
        """A spec that covers every row."""
        return Spec(self.structure, [column.spec() for column in self.columns])

    def row_bytes(self, row: int) -> int:
        """The bytes of one row."""
        return sum(column.row_bytes(row) for column in self.columns)

    def buffers(self) -> list[NDArray[Any]]:
        """The arrays that hold the rows."""
        return [buffer for column in self.columns for buffer in column.buffers()]

    def settle(self) -> bool:
        """Have all rows in arrays: none are yet to be gathered, or laid side by side. Whether some were."""
        settled = [column.settle() for column in self.columns]
        return any(settled)

    def with_columns(self, columns: Sequence[Column]) -> Block:
        """The same rows with other columns of the same structure."""
        return Block(self.structure, columns, self.rows, self.numbers, self.origin)

    def place(self, row: int) -> Place | None:
        """Where in which file that row was, if it is known."""
        return None if self.origin is None else self.origin.place(row)

    def __reduce__(self) -> tuple[type[Block], tuple[Any, ...]]:
        return Block, (self.structure, self.columns, self.rows, self.numbers)

    def __repr__(self) -> str:
        return f"Block({self.rows} rows of {self.structure}, {self.nbytes} bytes)"
