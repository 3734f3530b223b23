"""A user's predicate over the rows of a block, for `filter` and `take_while`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.columns import DenseColumn
from penstock.errors import DataError, ElementError
from penstock.functions.function import user_function
from penstock.functions.row_function import RowFunction
from penstock.graph.op import Op
from penstock.graph.running import Context


class Predicate:
    """Tells which rows a user's function says yes to, and keeps count of them."""

    def __init__(self, function: Callable[..., Any], op: Op, context: Context) -> None:
        self._rows = RowFunction([user_function(function, op, context)], context.empty, both=context.both)
        self._context = context
        self._fail = op.fail
        self.seen = 0
        """How many rows it has been asked about."""

    def apply(self, block: Block) -> tuple[NDArray[np.bool_], int, ElementError | None]:
        """The answers, how many rows they used up, and the error of the last of these, if any."""
        numbers = np.arange(self.seen, self.seen + block.rows)
        outcome = self._rows.apply(block, numbers, self._context.block_bytes, self.seen)
        used, error = outcome.used, outcome.error
        answers = _no_answers()
        if outcome.block is not None:
            answers, wrong = self._answers(outcome.block)
            if wrong is not None:
                used, error = len(answers) + 1, wrong
        if error is not None:
            error.__traceback__ = None  # its frames hold blocks
        self.seen += used
        return answers, used, error

    def _answers(self, block: Block) -> tuple[NDArray[np.bool_], DataError | None]:
        """The answers before the first that is neither True nor False, and the error that it is."""
        column = block.columns[0] if block.structure.is_leaf else None
        if isinstance(column, DenseColumn):
            array = column.array
            if array.dtype == bool and array.ndim == 1:
                return array, None
        answers: list[bool] = []
        for result in block.elements():
            if not isinstance(result, np.bool_ | np.ndarray) or result.dtype != bool or result.ndim:
                return np.array(answers, bool), self._wrong(result, self.seen + len(answers))
            answers.append(bool(result))
        return np.array(answers, bool), None

    def _wrong(self, result: Any, number: int) -> DataError:
        return DataError(
            self._fail(
                f"expected the predicate to return True or False, got {result!r} for element "
                f"{number}. Compare, as in `x > 0`, or use `bool(...)`."
            ),
            op=self._context.label,
            number=number,
        )


def _no_answers() -> NDArray[np.bool_]:
    return np.zeros(0, bool)
