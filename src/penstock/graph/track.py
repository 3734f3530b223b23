"""Where a stream stands: a state that was taken, and how many elements have come since.

Streams are the same every time, so that is enough to go on: put a new op there, and drop so many elements.
A state need not be taken often, then. It is taken as often as it costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

SHARE = 0.005
"""The part of the time that may go into taking states."""

State = dict[str, Any]
"""Where a started input stands: `skip` elements after `at`, the op's own state, or after its beginning."""


def advanced(state: State | None, elements: int) -> State:
    """The state after so many elements more."""
    state = state or {}
    if not elements or "ended" in state:
        return state
    return {**state, "skip": state.get("skip", 0) + elements}


class Pace:
    """Says when it is time to take a state again: after two hundred times as long as the last one took."""

    __slots__ = ("_next",)

    def __init__(self) -> None:
        self._next = 0.0

    @property
    def due(self) -> bool:
        """Whether it is time."""
        return perf_counter() >= self._next

    def taken(self, take: Callable[[], Any]) -> Any:
        """Take a state, and see how long it takes."""
        began = perf_counter()
        state = take()
        ended = perf_counter()
        self._next = ended + (ended - began) / SHARE
        return state


class Track:
    """The last state that was taken, and the elements since."""

    __slots__ = ("at", "pace", "since")

    def __init__(self) -> None:
        self.at: Any = None
        """What was taken; None for the beginning."""
        self.since = 0
        self.pace = Pace()

    def take(self, state: Callable[[], Any]) -> None:
        """All elements so far have been handed on, and no more are at hand: take the state, if it is time."""
        if self.since and self.pace.due:
            self.at = self.pace.taken(state)
            self.since = 0

    def stand(self, at: Any, since: int = 0) -> None:
        """Stand so many elements after this state."""
        self.at, self.since = at, since

    def passed(self, elements: int) -> None:
        """So many elements more have been handed on; one that fails is one."""
        self.since += elements

    def here(self) -> State:
        """The state of the op whose own states these are, where it stands now."""
        return advanced({} if self.at is None else {"at": self.at}, self.since)

    def ahead(self) -> State:
        """The state of the input whose states these are, where it stands now."""
        return advanced(self.at, self.since)
