"""The token that ends everything a run has started."""

from __future__ import annotations

from penstock.errors import PenstockError


class Cancelled(PenstockError):
    """The run was closed while this stage was at work; never reaches the user."""


class Cancel:
    """Set once; set for a part of a run, it leaves the rest alone."""

    def __init__(self, parent: Cancel | None = None) -> None:
        self._parent = parent
        self._set = False

    def set(self) -> None:
        """End what listens to this token."""
        self._set = True

    def is_set(self) -> bool:
        """Whether this part of the run, or the whole, is to end."""
        return self._set or (self._parent is not None and self._parent.is_set())

    def check(self) -> None:
        """Raise `Cancelled` if it is to end."""
        if self.is_set():
            raise Cancelled("the run was closed")
