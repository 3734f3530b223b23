"""A function of rows over a block: the seam behind which it is decided how the function runs."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.build import READY, LeafError, as_leaf, column_of
from penstock.blocks.columns import size_of
from penstock.blocks.gathering import Gathering, gatherings
from penstock.blocks.receive import own
from penstock.blocks.structure import LEAF, Structure, structure_of
from penstock.errors import DataError, ElementError
from penstock.functions.function import UserFunction
from penstock.kernels.spans import Empty


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

    def __init__(self, functions: Sequence[UserFunction], empty: Empty = np.empty) -> None:
        self._functions = functions
        self._empty = empty
        self._one = functions[0] if len(functions) == 1 else None
        self.structure: Structure | None = None
        """The structure of the results, once there is one."""

    def apply(
        self, block: Block, numbers: NDArray[np.int64], room: int, at: memoryview | None = None
    ) -> Outcome:
        """Call the functions on each row, until the results take `room` bytes or a call fails.

        `at[0]` is set to the row that it is at.
        """
        # Of a large row that the functions pass on there is no second copy.
        came = block.buffers() if block.rows == 1 else []
        flat: list[list[Any]] = []
        gathered: list[Gathering] | None = None
        size, error, used, rows = 0, None, 0, 0
        for element, number in zip(block.elements(), numbers.tolist(), strict=True):
            if at is not None:
                at[0] = used
            used += 1
            try:
                leaves = self._call(element, number, came)
            except ElementError as failed:
                error = failed.with_traceback(None)  # its frames hold the block
                break
            if not rows:
                gathered = gatherings(leaves, block.rows, room, self._empty)
            rows += 1
            if gathered is None:
                flat.append(leaves)
            else:
                for column, leaf in zip(gathered, leaves, strict=True):
                    column.add(leaf)
                    del leaf
            size += size_of(leaves[0]) if len(leaves) == 1 else sum(map(size_of, leaves))
            del leaves
            if size >= room:
                break
        if not rows:
            return Outcome(None, used, error)
        assert self.structure is not None
        if gathered is None:
            columns = [column_of(leaves) for leaves in zip(*flat, strict=True)]
        else:
            columns = [column.column() for column in gathered]
        done = Block(self.structure, columns, rows)
        if block.numbers is not None:
            done.numbers = numbers[:rows]
        return Outcome(done, used, error)

    def _call(self, element: Any, number: int, came: list[NDArray[Any]]) -> list[Any]:
        """The leaves of what the functions give for an element, none of which others can change."""
        if self._one is not None and self.structure is LEAF:
            result = self._one(element, number)
            if type(result) in READY:
                return [result]
            leaves = self._flat(self._one, LEAF, result, number)
            del result  # a reference more, and an array would be copied
            own(leaves, came)
            return leaves
        leaves = []
        for function in self._functions:
            element = function(element, number)
            last = function is self._functions[-1]
            structure = self.structure if last else None
            if structure is None:
                structure = structure_of(element)
                if element is None:
                    _warn_of_none(function, number)
            leaves = self._flat(function, structure, element, number)
            element = None
            own(leaves, came)
            if last:
                self.structure = structure
            else:
                # The next function gets what it would get out of a block.
                element = structure.unflatten([column_of([leaf]).item(0) for leaf in leaves])
                leaves = []
        return leaves

    def _flat(self, function: UserFunction, structure: Structure, result: Any, number: int) -> list[Any]:
        try:
            return [as_leaf(leaf) for leaf in structure.flatten(result)]
        except LeafError as error:
            message = f"{function.where}: the function's result for element {number} has {error}."
            raise DataError(message, op=function.label, number=number) from None
        except TypeError as error:
            raise DataError(
                f"{function.where}: the function's result for element {number} does not match "
                f"its earlier results: {error}. Return the same structure for every element.",
                op=function.label,
                number=number,
            ) from None


def _warn_of_none(function: UserFunction, number: int) -> None:
    warnings.warn(
        f"{function.where}: the function returned None for element {number}. Is a `return` missing? What it "
        f"returns is the new element.",
        UserWarning,
        stacklevel=2,
    )
