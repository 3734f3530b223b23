"""A function of rows over a block: the seam behind which it is decided how the function runs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import GeneratorType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.build import NUMBERS, READY, LeafError, column_of, leaves_of
from penstock.blocks.columns import Column, size_of
from penstock.blocks.gathering import Gathering, gatherings
from penstock.blocks.receive import SMALL, own
from penstock.blocks.structure import LEAF, Structure, structure_of
from penstock.errors import DataError, ElementError
from penstock.functions.function import RAISED, UserFunction, ends_program
from penstock.kernels.spans import Empty
from penstock.random.scope import enter


@dataclass(frozen=True)
class Outcome:
    """What became of a block's rows: the first `used` of them are done with.

    `block` has the results of those that succeeded; with an `error`, row `used - 1` failed.
    """

    block: Block | None
    used: int
    error: ElementError | None = None


class _Results:
    """The leaves of results as they come, column by column."""

    def __init__(self, rows: int, room: int, empty: Empty) -> None:
        """There are at most so many rows, and no more after `room` bytes."""
        self._most, self._room, self._empty = rows, room, empty
        self._gathered: list[Gathering] | None = None
        self.leaves: list[list[Any]] = []
        self.rows = self.size = 0

    def add(self, leaves: list[Any]) -> None:
        """The leaves of the next result; the list is used up."""
        if not self.rows:
            self._gathered = gatherings(leaves, self._most, self._room, self._empty)
            self.leaves = [[] for _ in leaves]
        self.rows += 1
        self.size += sum(map(size_of, leaves))
        for i in range(len(leaves)):
            if self._gathered is None:
                self.leaves[i].append(leaves[i])
            else:
                self._gathered[i].add(leaves[i])
        leaves.clear()

    @property
    def single(self) -> list[Any] | None:
        """Where results of one small leaf may be added as well; None where they may not."""
        return self.leaves[0] if self._gathered is None and len(self.leaves) == 1 else None

    def columns(self) -> list[Column]:
        """All of them."""
        if self._gathered is None:
            return [column_of(leaves) for leaves in self.leaves]
        return [column.column() for column in self._gathered]


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
        results = _Results(block.rows, room, self._empty)
        error, failed = None, 0
        rows = zip(block.elements(), numbers.tolist(), strict=True)
        try:
            for element, number in rows:
                if at is not None:
                    at[0] = results.rows
                results.add(self._call(element, number, came))
                if self._one is not None and results.size < room:
                    self._go_on(self._one, rows, results, room, at)
                if results.size >= room:
                    break
        except ElementError as raised:
            error, failed = raised.with_traceback(None), 1  # its frames hold the block
        if not results.rows:
            return Outcome(None, failed, error)
        assert self.structure is not None
        done = Block(self.structure, results.columns(), results.rows)
        if block.numbers is not None:
            done.numbers = numbers[: results.rows]
        return Outcome(done, results.rows + failed, error)

    def _go_on(
        self,
        one: UserFunction,
        rows: Iterator[tuple[Any, int]],
        results: _Results,
        room: int,
        at: memoryview | None,
    ) -> None:
        """As `_call` for the rows that are left, with nothing done twice that can be done once."""
        function, structure, scope = one.function, self.structure, one.scope(0)
        assert structure is not None
        single = results.single if structure is LEAF else None
        dtype = None if single is None else _plain_dtype(single[0])
        before = enter(scope)
        try:
            for element, number in rows:
                if at is not None:
                    at[0] = results.rows
                if scope is not None:
                    scope.numbers, scope.calls = number, 0
                try:
                    result = function(*element) if type(element) is tuple else function(element)
                except RAISED as error:
                    if ends_program(error):
                        raise
                    raise one.failed_with(element, error, number) from error
                if type(result) in NUMBERS:
                    result = NUMBERS[type(result)](result)
                if type(result) is np.ndarray and result.dtype is dtype and result.ndim > 0:
                    ready = result.nbytes <= SMALL
                    result = result.copy() if ready else result
                else:
                    ready = type(result) in READY
                if ready and single is not None:
                    single.append(result)
                    results.rows += 1
                    results.size += size_of(result)
                else:
                    leaves = self._flat(one, structure, result, number)
                    del result  # a reference more, and an array would be copied
                    own(leaves)
                    results.add(leaves)
                if results.size >= room:
                    return
        finally:
            enter(before)

    def _call(self, element: Any, number: int, came: list[NDArray[Any]]) -> list[Any]:
        """The leaves of what the functions give for an element, none of which others can change."""
        leaves: list[Any] = []
        for function in self._functions:
            element = function(element, number)
            last = function is self._functions[-1]
            structure = self.structure if last else None
            if structure is None:
                structure = structure_of(element)
                if element is None:
                    _warn_of_none(function, number)
                elif isinstance(element, GeneratorType):
                    _warn_of_generator(function, number)
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
            return leaves_of(structure, result)
        except LeafError as error:
            message = f"{function.where}: the function's result for element {number} has {error}."
            raise DataError(message, op=function.label, number=number) from None
        except TypeError as error:
            one = " A list counts as a tuple: for one array, return np.array([...])."
            raise DataError(
                f"{function.where}: the function's result for element {number} does not match "
                f"its earlier results: {error}. Return the same structure for every element."
                f"{one if isinstance(result, list) else ''}",
                op=function.label,
                number=number,
            ) from None


def _warn_of_generator(function: UserFunction, number: int) -> None:
    warnings.warn(
        f"{function.where}: the function returned a generator for element {number}, which is one element and "
        f"nothing that is gone through. For several elements out of one, return a dataset in flat_map: "
        f"ps.Dataset.from_generator(...).",
        UserWarning,
        stacklevel=2,
    )


def _plain_dtype(leaf: Any) -> np.dtype[Any] | None:
    """The dtype of a leaf that is an array of numbers; of most dtypes there is one object for all arrays."""
    return leaf.dtype if type(leaf) is np.ndarray and leaf.dtype.kind in "biufc" else None


def _warn_of_none(function: UserFunction, number: int) -> None:
    warnings.warn(
        f"{function.where}: the function returned None for element {number}. Is a `return` missing? What it "
        f"returns is the new element.",
        UserWarning,
        stacklevel=2,
    )
