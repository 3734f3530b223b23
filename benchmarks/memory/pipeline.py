"""What a memory pipeline is, and the words in which one function builds it for two libraries."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

MIB = 1 << 20
SLACK = 24 * MIB

Array = np.ndarray[Any, np.dtype[Any]]


def bound(budget: int) -> int:
    """The most that a run may add to the idle process: the budget, a tenth of it, and 24 MiB."""
    return budget + budget // 10 + SLACK


def mark(number: int) -> int:
    """The value that fills element `number`: the sum of all marks proves a whole stream."""
    return number % 251


class Words(Protocol):
    """The few places where the two libraries are written differently."""

    autotune: Any

    def generated(self, rows: Callable[[], Iterator[Array]], shape: Any, dtype: Any) -> Any:
        """A data set over a generator."""

    def made(self, count: int, size: int) -> tuple[Any, Callable[[Any], Any]]:
        """A data set of numbers, and a function that makes `size` marked bytes of one."""

    def same(self, element: Any) -> Any:
        """An element, made anew."""

    def key(self, element: Any) -> Any:
        """The number, from 0 to 3, of the group that an element belongs to."""


@dataclass(frozen=True)
class Pipeline:
    """One pipeline under one budget; `build` writes it once, in the words of either library.

    `rows` elements arrive in all; the first value of each adds up to the marks that are expected.
    `step` is how long the consumer works on each item after the first `quick` ones, as a training
    step would. `refused` says that one element alone is too large, so `BudgetError` is right.
    """

    name: str
    title: str
    budget: int
    rows: int
    build: Callable[[Words], Any]
    epochs: int = 1
    step: float = 0.0
    quick: int = 0
    refused: bool = False

    def marks(self) -> int:
        """What the first values of all elements add up to."""
        return self.epochs * sum(map(mark, range(self.rows)))
