"""What the feeds of frameworks have in common: a dataset of passes, and one pass."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from collections.abc import Iterator as AbstractIterator
from types import TracebackType
from typing import Any, Self

from penstock.engine.handover import mark_of, state_at
from penstock.engine.iterator import Iterator
from penstock.errors import DataError
from penstock.frameworks.ahead import Ahead
from penstock.frameworks.reading import Place, Reading
from penstock.report.report import Report


class Pass(AbstractIterator[Any]):
    """One pass, as a framework's arrays: an iterator, and a context manager that ends the run."""

    def __init__(
        self, elements: Iterator, epoch: int, convert: Callable[[Any], Any], ahead: Ahead | None, call: str
    ) -> None:
        self._elements = elements
        self._epoch = epoch
        self._convert = convert
        self._ahead = ahead
        self._call = call
        self._ended = False
        self._finalizer = None if ahead is None else weakref.finalize(self, ahead.drop)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        try:
            if self._ahead is not None:
                return self._ahead.next()
            element = next(self._elements)
        except StopIteration:
            self._ended = True
            raise
        return converted(element, self._convert, self._call)

    def state_dict(self) -> dict[str, Any]:
        """Where this pass stands, behind the last element that it gave; at its end, before the next pass."""
        if self._ended:
            return {"epoch": self._epoch + 1, "state": None}
        mark = mark_of(self._elements) if self._ahead is None else self._ahead.mark
        return {"epoch": self._epoch, "state": state_at(self._elements, mark)}

    def report(self) -> Report:
        """What each op has held, how long it took, and what it had to put up with."""
        return self._elements.report()

    @property
    def device_peak(self) -> int:
        """The most bytes that were ready on the device at one time, before they were asked for."""
        return 0 if self._ahead is None else self._ahead.peak

    def close(self) -> None:
        """End the run now and give everything back. May be called more than once."""
        if self._ahead is None or self._finalizer is None:
            self._elements.close()
        else:
            self._finalizer.detach()
            self._ahead.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


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
        self._latest: weakref.ref[Pass] | None = None

    def _place(self) -> Place:
        raise NotImplementedError

    def _noted(self, begun: Pass) -> Pass:
        self._latest = weakref.ref(begun)
        return begun

    def __len__(self) -> int:
        return self._reading.length(self._place())

    def __bool__(self) -> bool:
        return True

    def set_epoch(self, epoch: int) -> None:
        """Say the number of the next pass, which shuffles differ by."""
        self._reading.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Where the latest pass stands: plain data for `load_state_dict`."""
        latest = None if self._latest is None else self._latest()
        return self._reading.unstarted() if latest is None else latest.state_dict()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Have the next pass go on where another one stood."""
        self._reading.load(state_dict)
        self._latest = None
