"""Datasets that a user's function returns, opened inside the op that called it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.blocks.block import Block
from penstock.blocks.structure import Structure
from penstock.errors import ArgumentTypeError, DataError
from penstock.functions.function import user_function
from penstock.graph import checks
from penstock.graph.op import Op
from penstock.graph.running import Context, Input, Pipeline


class DatasetFunction:
    """A user's function that gives a dataset for an element; `argument` is what the op calls it."""

    def __init__(self, function: Callable[..., Any], op: Op, context: Context, argument: str) -> None:
        self._function = user_function(function, op, context)
        self._op = op
        self._context = context
        self._argument = argument
        self._structure: Structure | None = None
        self.only_reads = True
        """Whether all datasets so far do nothing but read files."""

    def open(self, element: Any, number: int) -> Input:
        """Start the dataset that the function returns for element `number`."""
        return self._start(self._function(element, number), number)

    def read_or_open(self, element: Any, number: int, rows: int) -> Block | Input:
        """The same; or all of it, where that is at hand and no more than so many rows."""
        result = self._function(element, number)
        if isinstance(result, Pipeline):
            block: Block | None = result.op.at_once(self._context.empty)
            if block is not None and block.rows <= rows:
                return block
        return self._start(result, number)

    def open_for(self, arguments: tuple[Any, ...], number: int) -> Input:
        """Start the dataset that the function returns for these arguments."""
        return self._start(self._function.call(arguments, number), number)

    def _start(self, result: Any, number: int) -> Input:
        if not isinstance(result, Pipeline):
            hint = checks.how_to_convert(result) or " Return one, such as ps.Dataset.from_tensor_slices(...)."
            raise ArgumentTypeError(
                self._op.fail(
                    f"{self._argument}=: expected a function that returns a dataset, got the "
                    f"{type(result).__name__} {checks.shown(result)} for element {number}.{hint}"
                )
            )
        self.only_reads = self.only_reads and result.op.only_reads
        return self._context.open(result, number)

    def checked(self, block: Block) -> Block:
        """The block, if it has the structure of all that came before; `DataError` otherwise."""
        if self._structure is None:
            self._structure = block.structure
        if block.structure is not self._structure and block.structure != self._structure:
            raise DataError(
                self._op.fail(
                    f"{self._argument}=: expected datasets of one structure, got elements "
                    f"{self._structure} and then {block.structure}. Return datasets of the same "
                    f"structure for every element."
                ),
                op=self._context.label,
            )
        return block
