"""Elements that are made one by one, collected into blocks."""

from __future__ import annotations

from typing import Any

from penstock.blocks.block import Block
from penstock.blocks.build import as_leaf, column_of
from penstock.blocks.columns import size_of
from penstock.blocks.structure import Structure, structure_of
from penstock.errors import DataError


class Collector:
    """Takes elements until they fill a block. The first one settles the structure of all."""

    def __init__(self, label: str, room: int, structure: Structure | None = None) -> None:
        self._label = label
        self._room = room
        self._structure = structure
        self._rows: list[list[Any]] = []
        self._size = 0

    def add(self, element: Any, number: int) -> None:
        """Take an element; `DataError` if it has another structure than those before it."""
        structure = self._structure or structure_of(element)
        try:
            leaves = [as_leaf(leaf) for leaf in structure.flatten(element)]
            if any(isinstance(leaf, tuple | dict) for leaf in leaves):
                raise TypeError(f"expected the structure {structure}, got {structure_of(element)}")
        except TypeError as error:
            raise DataError(
                f"{self._label}: element {number} is not like those before it: {error}. "
                f"Make every element of one structure.",
                op=self._label,
                number=number,
            ) from None
        self._structure = structure
        self.add_leaves(leaves)

    def add_leaves(self, leaves: list[Any]) -> None:
        """Take an element whose leaves have been checked."""
        self._rows.append(leaves)
        self._size += sum(map(size_of, leaves))

    @property
    def full(self) -> bool:
        """Whether there is enough for a block."""
        return self._size >= self._room

    def block(self) -> Block | None:
        """What has been taken since the last time; None if that is nothing."""
        rows, self._rows, self._size = self._rows, [], 0
        if not rows:
            return None
        assert self._structure is not None
        columns = [column_of(leaves) for leaves in zip(*rows, strict=True)]
        return Block(self._structure, columns, len(rows))
