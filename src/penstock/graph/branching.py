"""The contract of an op that reads several datasets, each opened for an element of its input."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from penstock.graph.running import Input, Running
from penstock.graph.track import State


class Opening(ABC):
    """An element that has been taken in, and the dataset that is opened for it."""

    number: int
    """Which element it is."""
    state: State | None = None
    """Where the dataset stands when it has been opened, if not at its beginning."""

    @abstractmethod
    def open(self) -> Input:
        """Open the dataset: on any thread. An `ElementError` is that of the user's function."""


class Branches:
    """The datasets in the order of their elements, each opened when it is asked for.

    The engine has another one, that opens and reads them ahead.
    """

    loose = False
    """Whether rows may be taken of whichever dataset has them first."""
    has_next = True
    """Whether the next dataset can be had at once."""

    def __init__(self, begin: Callable[[], Opening | None]) -> None:
        self._begin = begin

    def next(self) -> Running | None:
        """The next dataset; None at the end. An `ElementError` uses up one element."""
        opening = self._begin()
        return None if opening is None else opening.open()

    def waiting(self) -> Sequence[Opening]:
        """Those that have been begun and not asked for, the next one first."""
        return ()

    def ready(self, branch: Running) -> int:  # noqa: ARG002
        """How many rows of a dataset can be pulled at once; 1 also for an error, or its end."""
        return 1

    def wait(self, branches: Sequence[Running], *, more: bool) -> None:
        """Return when one of these, or where there may be `more` the next dataset, is ready."""


class Branching(Running):
    """An op that opens datasets by `branches`, which the engine may put another one in place of."""

    branches: Branches

    @abstractmethod
    def begin(self) -> Opening | None:
        """Take in the next element; None at the end. One call at a time, on any thread."""
