"""A run over as many elements as somebody asserted: that there are no more is seen before the last is given.

Who is told the length of a dataset asks for so many elements, and never for the one too many, which raises.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

from penstock.errors import ElementError
from penstock.frameworks.declared import Declared
from penstock.graph.op import Op


def counted(dataset: Declared, epoch: int | None = None) -> Any:
    """A run over a dataset, which is held to its length where that was asserted."""
    run, count = dataset.iterate(epoch=epoch), dataset.cardinality()
    return Counted(run, count) if count >= 0 and _asserts(dataset.op) else run


def _asserts(op: Op) -> bool:
    return op.name == "assert_cardinality" or any(map(_asserts, op.inputs))


class Counted(Iterator[Any]):
    """The elements of a run; with the last of `count`, what comes after it has been asked for."""

    def __init__(self, run: Any, count: int) -> None:
        self._run = run
        self._count = count
        self._given = 0
        self._failed: ElementError | None = None

    def __next__(self) -> Any:
        if self._failed is not None:
            error, self._failed = self._failed, None
            raise error
        element = next(self._run)
        self._given += 1
        if self._given == self._count:
            try:
                next(self._run, None)
            except ElementError as error:
                self._failed = error.with_traceback(None)  # in its place, after the element
        return element

    def close(self) -> None:
        """End the run."""
        self._run.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
