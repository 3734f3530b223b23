"""What a `Dataset` is to a framework."""

from __future__ import annotations

from typing import Any, Protocol

from penstock.graph.op import Op


class Declared(Protocol):
    """A dataset: what it says of itself, and runs over it."""

    op: Op

    @property
    def element_spec(self) -> Any:
        """The nest of `TensorSpec` that the elements agree with."""

    def cardinality(self) -> int:
        """How many elements there are, `INFINITE` or `UNKNOWN`."""

    def iterate(self, *, epoch: int | None = None) -> Any:
        """Start a run."""

    def _next_epoch(self) -> int: ...
