"""What is made anew each time: longer because the data are, not because it keeps what it had."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import islice
from typing import Any
from weakref import ref

from penstock.doctor.signals.torch_graphs import is_continued

FIRST = 16
"""So many items at the beginning of a buffer are compared."""
MEMBERS = 4
"""And so many members of a container."""
PLAIN = (int, float, str, bool)
SELDOM = 0.1
"""What is made longer has its old beginning nearly always; by chance another has it that seldom."""


@dataclass(slots=True)
class Beginning:
    """How a buffer, a container or a history begins, and whether that stayed when it became longer."""

    size: float = 0.0
    items: list[Any] | None = None
    at: int = 0
    stayed: int = 0
    changed: int = 0

    def see(self, thing: object, size: float, history: bool = False) -> None:
        """The thing as it is now."""
        items = None if history else first_items(thing)
        if size > self.size:
            same = is_continued(thing) if history else self._same(thing, items)
            self.stayed += same is True
            self.changed += same is False
        self.size, self.items, self.at = size, items, id(thing)

    def _same(self, thing: object, items: list[Any] | None) -> bool | None:
        """Whether it begins as before; None where that says nothing, as with a heap in one list."""
        if items is None or self.items is None:
            return None
        short = min(len(items), len(self.items))
        if items[:short] == self.items[:short]:
            return True
        return None if id(thing) == self.at and isinstance(thing, list | dict | deque) else False

    @property
    def anew(self) -> bool:
        """Whether it is made anew each time."""
        return self.changed > 0 and self.stayed <= SELDOM * self.changed


def first_items(thing: Any) -> list[Any] | None:
    """How a text, an array or a container begins, where that can be read at no cost."""
    root = type(thing).__module__.partition(".")[0]
    try:
        if isinstance(thing, str | bytes):
            return list(thing[:FIRST])
        if isinstance(thing, list | tuple | dict | deque):
            return [_Member(one) for one in islice(thing, MEMBERS)]
        if root == "torch":
            thing = thing.detach() if thing.device.type == "cpu" else None
        elif root == "tensorflow":
            thing = thing.numpy() if "CPU" in thing.device else None
        elif root != "numpy":
            return None
        if thing is None or not thing.ndim:
            return None
        found: list[Any] = thing[(0,) * (thing.ndim - 1)][:FIRST].tolist()
        return found
    except Exception:
        return None


class _Member:
    """A member, by what tells it from one that comes to be at its address later; it is not kept alive."""

    __slots__ = ("who",)
    who: object

    def __init__(self, one: object) -> None:
        try:
            self.who = ref(one)
        except TypeError:
            self.who = one if type(one) in PLAIN else id(one)

    def __eq__(self, other: object) -> bool:
        mine, its = self.who, other.who if isinstance(other, _Member) else None
        if isinstance(mine, ref) and isinstance(its, ref):
            return mine() is its() and mine() is not None
        return type(mine) is type(its) and mine == its

    __hash__ = None  # type: ignore[assignment]
