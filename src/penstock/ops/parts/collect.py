"""Elements that are made one by one, collected into blocks."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.build import LeafError, column_of, leaves_of
from penstock.blocks.columns import size_of
from penstock.blocks.receive import own
from penstock.blocks.structure import Structure, structure_of
from penstock.errors import DataError


class Collector:
    """Takes elements until they fill a block. The first one settles the structure of all."""

    def __init__(self, label: str, room: int, structure: Structure | None = None, *, where: str) -> None:
        self._label = label
        self._where = where
        self._room = room
        self._structure = structure
        self._columns: list[list[Any]] = []
        self._rows = self._size = 0

    def leaves_of(self, element: Any, number: int) -> list[Any]:
        """The leaves of an element; `DataError` if it has another structure than those before it."""
        structure = self._structure or structure_of(element)
        try:
            leaves = leaves_of(structure, element)
        except LeafError as error:
            message = f"{self._where}: element {number} has {error}."
            raise DataError(message, op=self._label, number=number) from None
        except TypeError as error:
            raise DataError(
                f"{self._where}: element {number} is not like those before it: {error}. "
                f"Make every element of one structure.",
                op=self._label,
                number=number,
            ) from None
        self._structure = structure
        return leaves

    def add(self, leaves: list[Any]) -> None:
        """Take an element by its leaves, which have been checked; nobody else has the list.

        Arrays that others can reach are copied, so the caller first lets go of the element.
        """
        own(leaves)
        if not self._rows:
            self._columns = [[] for _ in leaves]
        for column, leaf in zip(self._columns, leaves, strict=True):
            column.append(leaf)
        self._rows += 1
        self._size += sum(map(size_of, leaves))

    def add_small(self, array: NDArray[Any]) -> None:
        """The same for an element that is one small array, whoever else has it."""
        if not self._rows:
            self._columns = [[]]
        self._columns[0].append(array.copy())
        self._rows += 1
        self._size += size_of(array)

    @property
    def full(self) -> bool:
        """Whether there is enough for a block."""
        return self._size >= self._room

    def block(self) -> Block | None:
        """What has been taken since the last time; None if that is nothing."""
        rows, columns = self._rows, self._columns
        self._rows, self._size, self._columns = 0, 0, []
        if not rows:
            return None
        assert self._structure is not None
        return Block(self._structure, [column_of(leaves) for leaves in columns], rows)
