"""States of an input, from the oldest element on that may have to be read again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from penstock.blocks.block import Block
from penstock.errors import ElementError
from penstock.graph.running import Input, Running
from penstock.graph.track import Pace, State

MOST = 64
"""So many states are kept at most; with more, every second one is dropped."""


class Mark(NamedTuple):
    """A state of the input before the element of that number; `rows` of those before it did not fail."""

    element: int
    rows: int
    state: State
    about: Any
    """What the op wants to know again when it goes on from here."""


class Trail(Running):
    """An input whose elements an op keeps: it can be read again from near any that is still needed."""

    def __init__(
        self, source: Input, oldest: Callable[[], int], about: Callable[[], Any] = lambda: None
    ) -> None:
        """`oldest` says the number of the first element that is still needed."""
        self._source = source
        self._oldest = oldest
        self._about = about
        self._pace = Pace()
        self._marks: list[Mark] = []
        self._full = MOST // 4
        self.element = 0
        """How many elements have come, failed ones too."""
        self.rows = 0

    def pull(self, rows: int) -> Block | None:
        """The next rows. When it is called, the op holds elements, and none that it has only begun with."""
        if not self._marks:
            self._marks.append(Mark(0, 0, self._source.state(), self._about()))
        elif self._pace.due and self.element > self._marks[-1].element:
            self._marks.append(self._pace.taken(self._mark))
        try:
            block = self._source.pull(rows)
        except ElementError:
            self.element += 1
            raise
        if block is not None:
            self.element += block.rows
            self.rows += block.rows
        return block

    def _mark(self) -> Mark:
        if len(self._marks) >= self._full:
            oldest = self._oldest()
            while len(self._marks) > 1 and self._marks[1].element <= oldest:
                del self._marks[0]
            if len(self._marks) >= MOST:
                del self._marks[1::2]
            self._full = min(MOST, 2 * len(self._marks) + 4)
        return Mark(self.element, self.rows, self._source.state(), self._about())

    def before(self, element: int) -> Mark:
        """The last state that was taken before that element."""
        found = [mark for mark in self._marks if mark.element <= element]
        return found[-1] if found else Mark(0, 0, self._source.state(), self._about())

    def go_back(self, mark: Mark) -> None:
        """Go back to where the input had this state."""
        self._source.restore(mark.state)
        self._marks = [mark]
        self.element, self.rows = mark.element, mark.rows


def said(mark: Mark) -> dict[str, Any]:
    """A mark as plain data."""
    return {"element": mark.element, "rows": mark.rows, "input": mark.state, "about": mark.about}


def mark_of(state: dict[str, Any]) -> Mark:
    """The mark that was said so."""
    return Mark(state["element"], state["rows"], state["input"], state["about"])
