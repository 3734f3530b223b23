"""What the feeds of frameworks have in common: a dataset of passes, and one pass."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from collections.abc import Iterator as AbstractIterator
from functools import partial
from types import TracebackType
from typing import Any, Self

from penstock.engine.endings import endings
from penstock.engine.handover import Mark, mark_of, run_of
from penstock.engine.iterator import Iterator
from penstock.errors import DataError
from penstock.frameworks.ahead import Ahead
from penstock.frameworks.reading import Place, Reading
from penstock.report.report import Report


class Standing:
    """Where a pass stands. It outlives the pass, in kilobytes: who has left the loop may save then."""

    def __init__(self, elements: Iterator, epoch: int, ahead: Ahead | None) -> None:
        self._epoch = epoch
        self._states = run_of(elements).states
        self._mark: Callable[[], Mark] | None = partial(_mark, elements, ahead)
        self.over = False
        """Whether the pass is not asked for elements any more."""

    def ended(self) -> None:
        """There are no more elements."""
        self._mark, self.over = None, True

    def left(self) -> None:
        """Nobody goes on with the pass: keep where it stood, and nothing of the run."""
        if self._mark is not None and not self.over:
            mark = self._mark()
            self._mark, self.over = lambda: mark, True

    def state_dict(self) -> dict[str, Any]:
        """Behind the last element that was given; at the end, before the next pass."""
        mark = self._mark
        if mark is None:
            return {"epoch": self._epoch + 1, "state": None}
        return {"epoch": self._epoch, "state": self._states.packed(*mark())}


def _mark(elements: Iterator, ahead: Ahead | None) -> Mark:
    return mark_of(elements) if ahead is None else ahead.mark


class Pass(AbstractIterator[Any]):
    """One pass, as a framework's arrays: an iterator, and a context manager that ends the run."""

    def __init__(
        self, elements: Iterator, epoch: int, convert: Callable[[Any], Any], ahead: Ahead | None, call: str
    ) -> None:
        self._elements = elements
        self._convert = convert
        self._ahead = ahead
        self._call = call
        self.standing = Standing(elements, epoch, ahead)
        self._finalizer = weakref.finalize(self, _drop, self.standing, elements, ahead)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        try:
            if self._ahead is not None:
                return self._ahead.next()
            element = next(self._elements)
        except StopIteration:
            self.standing.ended()
            raise
        return converted(element, self._convert, self._call)

    def state_dict(self) -> dict[str, Any]:
        """Where this pass stands, behind the last element that it gave; at its end, before the next pass."""
        return self.standing.state_dict()

    def report(self) -> Report:
        """What each op has held, how long it took, and what it had to put up with."""
        return self._elements.report()

    @property
    def device_peak(self) -> int:
        """The most bytes that were ready on the device at one time, before they were asked for."""
        return 0 if self._ahead is None else self._ahead.peak

    def close(self) -> None:
        """End the run now and give everything back. May be called more than once."""
        self._finalizer.detach()
        _leave(self.standing, self._elements, self._ahead)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _drop(standing: Standing, elements: Iterator, ahead: Ahead | None) -> None:
    """Leave a pass that nobody has any more, at a moment that nobody chose."""
    endings.dropped(partial(_leave, standing, elements, ahead))


def _leave(standing: Standing, elements: Iterator, ahead: Ahead | None) -> None:
    try:
        if run_of(elements).is_ours:
            standing.left()
    finally:
        (elements if ahead is None else ahead).close()


def converted(element: Any, convert: Callable[[Any], Any], call: str) -> Any:
    """An element as a framework's arrays; `DataError` for what it has none of."""
    try:
        return convert(element)
    except TypeError as error:
        raise DataError(f"{call}: {error}.", op=call) from None


class Passes:
    """What a feed is to who trains: passes, their number, and where the latest one stands."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._latest: Standing | None = None

    def _place(self) -> Place:
        raise NotImplementedError

    def _noted(self, begun: Pass) -> Pass:
        self._latest = begun.standing
        return begun

    def __len__(self) -> int:
        return self._reading.length(self._place())

    def __bool__(self) -> bool:
        return True

    def set_epoch(self, epoch: int) -> None:
        """Say the number of the next pass, which shuffles differ by."""
        self._reading.set_epoch(epoch)
        if self._latest is not None and self._latest.over:
            self._latest = None

    def state_dict(self) -> dict[str, Any]:
        """Where the latest pass stands, or stood when it was left: plain data for `load_state_dict`."""
        latest = self._latest
        return self._reading.unstarted() if latest is None else latest.state_dict()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Have the next pass go on where another one stood."""
        self._reading.load(state_dict)
        self._latest = None
