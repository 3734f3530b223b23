"""Arrays and texts that the functions at work have by name: memory that is in use, and not lost."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from sys import getsizeof
from types import FrameType
from typing import Any

FEW, MOST = 32, 64
"""Of a record so many members are looked at, and of a list of records."""
TEXT = (str, bytes, bytearray)
Arrays = dict[int, int]
"""Bytes, by where in memory they are."""


class Held:
    """What each of the functions at work has, as its lines are followed."""

    def __init__(self) -> None:
        self._by_frame: dict[int, Arrays] = {}
        self._returned: Arrays = {}

    def see(self, frame: FrameType, returned: object = None) -> None:
        """A line of a function is at work, or it returns something."""
        self._by_frame[id(frame)] = arrays_in(frame.f_locals)
        self._returned = {} if returned is None else arrays_in({"": returned})

    def leave(self, frame: FrameType) -> None:
        """A function is done; what it has returned is on its way."""
        self._by_frame.pop(id(frame), None)

    @property
    def bytes(self) -> int:
        """How many there are in all, each counted once."""
        all_of_them = dict(self._returned)
        for one in self._by_frame.values():
            all_of_them.update(one)
        return sum(all_of_them.values())


def arrays_in(names: dict[str, Any]) -> Arrays:
    """The arrays that names have, or a record that a name has, or a list of records."""
    found: Arrays = {}
    for value in list(names.values()):
        for one in islice(chain.from_iterable(map(_members, _members(value))), MOST):
            at = _memory(one)
            if at is not None:
                found[at[0]] = at[1]
    return found


def _members(value: Any) -> Iterator[Any]:
    """Some of what a list, a tuple or a dict has; anything else is alone."""
    kind = type(value)
    if kind is tuple or kind is list:
        return islice(value, FEW)
    return islice(value.values(), FEW) if kind is dict else iter((value,))


def _memory(thing: Any) -> tuple[int, int] | None:
    """Where the memory of a text or an array is, and how large, if it is its own."""
    kind = type(thing)
    if kind in TEXT:
        return id(thing), getsizeof(thing)
    if kind.__module__ == "numpy" and kind.__name__ == "ndarray":
        while type(thing.base) is kind:
            thing = thing.base
        return (thing.__array_interface__["data"][0], thing.nbytes) if thing.flags.owndata else None
    if kind.__module__.startswith("torch") and hasattr(thing, "untyped_storage"):
        storage = thing.untyped_storage()
        return (storage.data_ptr(), storage.nbytes()) if storage.device.type == "cpu" else None
    return None
