"""A function of rows over a block: the seam behind which it is decided how the function runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.build import as_leaf, column_of
from penstock.blocks.columns import size_of
from penstock.blocks.structure import Structure, structure_of
from penstock.errors import DataError, ElementError
from penstock.functions.function import UserFunction


@dataclass(frozen=True)
class Outcome:
    """What became of a block's rows: the first `used` of them are done with.

    `block` has the results of those that succeeded; with an `error`, row `used - 1` failed.
    """

    block: Block | None
    used: int
    error: ElementError | None = None


class PlainRows:
    """A plain call a row."""

    def __init__(self, functions: Sequence[UserFunction]) -> None:
        self._functions = functions
        self._structure: Structure | None = None

    def apply(self, block: Block, numbers: NDArray[np.int64], room: int) -> Outcome:
        """Call the functions on each row, until the results take `room` bytes or a call fails."""
        flat: list[list[Any]] = []
        size, error, used = 0, None, 0
        for element, number in zip(block.elements(), numbers.tolist(), strict=True):
            used += 1
            try:
                leaves = self._call(element, number)
            except ElementError as failed:
                error = failed.with_traceback(None)  # its frames hold the block
                break
            flat.append(leaves)
            size += sum(map(size_of, leaves))
            if size >= room:
                break
        if not flat:
            return Outcome(None, used, error)
        assert self._structure is not None
        columns = [column_of(leaves) for leaves in zip(*flat, strict=True)]
        done = Block(self._structure, columns, len(flat))
        if block.numbers is not None:
            done.numbers = numbers[: len(flat)]
        return Outcome(done, used, error)

    def _call(self, element: Any, number: int) -> list[Any]:
        leaves: list[Any] = []
        for function in self._functions:
            element = function(element, number)
            last = function is self._functions[-1]
            structure = self._structure if last else None
            if structure is None:
                structure = structure_of(element)
            try:
                leaves = [as_leaf(leaf) for leaf in structure.flatten(element)]
            except TypeError as error:
                raise DataError(
                    f"{function.label}: the function's result for element {number} does not match "
                    f"its earlier results: {error}. Return the same structure for every element.",
                    op=function.label,
                    number=number,
                ) from None
            if last:
                self._structure = structure
            else:
                # The next function gets what it would get out of a block.
                element = structure.unflatten([column_of([leaf]).item(0) for leaf in leaves])
        return leaves
