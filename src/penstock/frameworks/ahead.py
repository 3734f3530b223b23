"""Elements put on a device ahead of their use: on a thread of their own, bounded in number and in bytes."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from penstock.engine.aside import Aside, end_all
from penstock.engine.cancel import Cancel, Cancelled
from penstock.engine.handover import Mark, mark_of, run_of
from penstock.engine.iterator import Iterator
from penstock.engine.run import Run
from penstock.errors import ClosedError, ElementError
from penstock.graph import checks
from penstock.options import parse_bytes
from penstock.site import user_site

DEPTH = 2
"""So many elements are on their way where nobody said how many."""


@dataclass(frozen=True)
class Depth:
    """How much may be ready on a device before it is asked for; one element in any case."""

    elements: int = 1 << 62
    bytes: int = 1 << 62

    def has_room(self, elements: int, held: int, more: int) -> bool:
        """Whether one more fits, of so many bytes, beside those that are ready."""
        return elements == 0 or (elements < self.elements and held + more <= self.bytes)


def depth_of(prefetch: Any, call: str) -> Depth:
    """What a user said: a number of elements, or bytes as text; None for what suits most."""
    if prefetch is None:
        return Depth(elements=DEPTH)
    if isinstance(prefetch, str):
        return Depth(bytes=parse_bytes(prefetch, f"{call}(prefetch=) at {user_site()}"))
    return Depth(elements=checks.count(prefetch, f"{call}(prefetch=)", least=1, words=" or bytes as text"))


class Carrier(Protocol):
    """What puts elements on a device. All is called by the thread, but for `hand_over`."""

    def bytes_of(self, element: Any) -> int:
        """The bytes that an element will have there."""

    def put(self, element: Any) -> Any:
        """Start to copy an element; what `hand_over` is to get."""

    def hand_over(self, put: Any) -> Any:
        """The element on the device, for who asked for it. Called where it is used."""

    def close(self) -> None:
        """Give back what it holds, once nothing more is put."""


class Ahead:
    """Pulls elements and puts them on a device while there is room for more. Errors keep their place."""

    def __init__(
        self, elements: Iterator, carrier: Callable[[Run], Carrier], depth: Depth, name: str
    ) -> None:
        self._elements = elements
        self._depth = depth
        self._lock = threading.RLock()  # in each `with`, and not the condition: decision 0007
        self._changed = threading.Condition(self._lock)
        self._ready: deque[tuple[Any, int, Mark] | BaseException | None] = deque()
        self._held = 0
        self._ended = False
        self.peak = 0
        """The most bytes that have been ready at one time."""
        self.mark = mark_of(elements)
        """Where the run stood when the element that was handed over last had come out of it."""
        self._carrier = carrier(run_of(elements))
        self._stop = Cancel(wake=self._wake)
        self._aside = Aside(self, name, self._fill)

    def next(self) -> Any:
        """The next element; StopIteration at the end."""
        with self._lock:
            while not self._ready and not self._ended:
                if self._stop.is_set():
                    raise ClosedError("This iteration was closed while it waited for an element.")
                self._changed.wait()
            if self._ended:
                raise StopIteration
            head = self._ready.popleft()
            if isinstance(head, tuple):
                self._held -= head[1]
            self._changed.notify_all()
        if isinstance(head, tuple):
            self.mark = head[2]
            return self._carrier.hand_over(head[0])
        if not isinstance(head, ElementError):
            self._ended = True
            self.close()
        try:
            raise StopIteration if head is None else head
        finally:
            del head  # an error that is a variable of its own frame would keep it alive

    def _fill(self) -> None:
        """Runs in the thread until the end, an error that ends the run, or `close`."""
        try:
            while self._one():
                pass
        finally:
            self._carrier.close()

    def _one(self) -> bool:
        """Put one element on the device; whether more is to come."""
        try:
            element = next(self._elements)
            size = self._carrier.bytes_of(element)
            mark = mark_of(self._elements)
            self._wait_for_room(size)
            put = self._carrier.put(element)
        except StopIteration:
            return self._add(None)
        except ElementError as error:
            self._add(error)
            return True
        except (Cancelled, ClosedError):
            raise Cancelled("the run was closed") from None
        except BaseException as error:  # handed over, and raised where the user can see it
            return self._add(error)
        del element
        self._add((put, size, mark), size)
        return True

    def _wait_for_room(self, size: int) -> None:
        with self._lock:
            while not self._depth.has_room(len(self._ready), self._held, size):
                self._stop.check()
                self._changed.wait()
            self._stop.check()

    def _add(self, item: Any, size: int = 0) -> bool:
        with self._lock:
            self._ready.append(item)
            self._held += size
            self.peak = max(self.peak, self._held)
            self._changed.notify_all()
        return False

    def _wake(self) -> None:
        with self._lock:
            self._changed.notify_all()

    def close(self) -> None:
        """End the run and the thread, and let go of what is ready. May be called more than once."""
        self._stop.set()
        self._elements.close()
        end_all([self._aside], lambda: None)
        with self._lock:
            self._ready.clear()
            self._held = 0
