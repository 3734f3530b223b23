"""Containers and buffers that the user's names lead to, and how long they are."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import _lru_cache_wrapper
from gc import get_referents
from itertools import islice
from types import FrameType
from typing import Any

from penstock.doctor.book import Book
from penstock.doctor.places import Places
from penstock.doctor.signals import kept_kind
from penstock.doctor.sizes import array_bytes, bounded, buffer_of, deep_bytes, length_of, many_attributes
from penstock.doctor.walk import Node, World

SMALLEST = 256
"""Buffers of fewer bytes are not looked at."""
OLD = 4
NEWEST = 5


@dataclass
class Described:
    """Something that has grown, in words: nothing of it is kept alive."""

    path: str
    labels: tuple[str, ...]
    scope: str
    file: str
    type: str
    buffer: bool
    bounded: bool
    inside: bool
    """Whether it is inside of a library's object."""
    owners: tuple[str, ...]
    """The types on the way to it."""
    made_line: int = 0
    """Of a cache: the line that declares it."""
    length: float = 0
    each: float = 0.0
    """About how many bytes one more costs."""
    member: str = ""
    made_up: bool = False
    """Whether its members are objects of a library's with attributes of their own: no mere numbers."""
    kind: str = "growing-container"


class Paths:
    """Reads them at every sample, and describes those that have grown."""

    def __init__(self, places: Places, book: Book) -> None:
        self.world = World(places)
        self.book = book
        self.described: dict[str, Described] = {}

    def read(self) -> None:
        """Put the length of everything into the book."""
        for node in self.world.walk():
            key, value = measured(node)
            if value is not None and self.book.follow(key, value):
                self._describe(key, node, value)

    def _describe(self, key: str, node: Node, value: float) -> None:
        known = self.described.get(key)
        if known is None:
            if len(self.described) > 1000:
                return
            known = self.described[key] = self._new(node)
        if value > 1.5 * known.length:
            known.length = value
            known.each = 1.0 if known.buffer else _bytes_each(node.thing)
            member = newest(node.thing)
            known.member = "" if known.buffer else type(member).__name__
            plain = not hasattr(member, "__dict__") or array_bytes(member) is not None
            known.made_up = not plain and not self.world.of_user(type(member))
            known.kind = self._kind(node, member)
        del node

    def _kind(self, node: Node, member: object) -> str:
        if isinstance(node.thing, _lru_cache_wrapper):
            return "unbounded-cache"
        buffer = buffer_of(node.thing) is not None
        for one in [node.thing] if buffer else [member, *_inside(member)]:
            found = kept_kind(one, node.label)
            if found is not None:
                return found
        return "growing-buffer" if buffer else "growing-container"

    def _new(self, node: Node) -> Described:
        labels, owners = [], []
        at: Node | None = node
        while at is not None:
            labels.append(at.label)
            owners.append(type(at.thing).__qualname__)
            at = at.above
        root, thing = node.root(), node.thing
        code = getattr(getattr(thing, "__wrapped__", None), "__code__", None)
        made_line = code.co_firstlineno if isinstance(thing, _lru_cache_wrapper) and code is not None else 0
        return Described(
            node.path(),
            tuple(labels[::-1]),
            root.scope,
            root.file,
            type(thing).__name__,
            length_of(thing) is None,
            bounded(thing),
            node.foreign > 0 and not (node.above and self.world.of_user(type(node.above.thing))),
            tuple(owners[::-1]),
            made_line,
        )

    def probes(self, keys: set[str]) -> dict[str, Callable[[FrameType], float | None]]:
        """How to read the length of each, quickly, for as long as the probes are kept."""
        found: dict[str, Callable[[FrameType], float | None]] = {}
        for node in self.world.walk():
            key, _ = measured(node)
            if key in keys and key not in found:
                found[key] = _probe(node)
        return found


def measured(node: Node) -> tuple[str, float | None]:
    """The key of a container or buffer, and how long it is."""
    length = length_of(node.thing)
    if length is not None:
        return f"length {node.key}", float(length)
    size = buffer_of(node.thing)
    return f"buffer {node.key}", float(size) if size is not None and size >= SMALLEST else None


def _probe(node: Node) -> Callable[[FrameType], float | None]:
    def measure(thing: object) -> float | None:
        length = length_of(thing)
        if length is None:
            length = buffer_of(thing)
        return None if length is None else float(length)

    above, label, thing = node.above, node.label, node.thing
    if above is not None and label.startswith(".") and isinstance(vars_of(above.thing), dict):
        holder = vars_of(above.thing)
        return lambda _: measure(holder.get(label[1:]))
    if above is None and node.scope:
        name, scope, file = label, node.scope, node.file

        def local(frame: FrameType) -> float | None:
            at: FrameType | None = frame
            while at is not None:
                if at.f_code.co_name == scope and at.f_code.co_filename == file:
                    return measure(at.f_locals.get(name)) if at is frame else measure(thing)
                at = at.f_back
            return measure(thing)

        return local
    if above is None:

        def anywhere(frame: FrameType) -> float | None:
            at: FrameType | None = frame
            while at is not None:
                if at.f_code.co_filename == node_file:
                    return measure(at.f_globals.get(label))
                at = at.f_back
            return measure(thing)

        node_file = node.file
        return anywhere
    return lambda _: measure(thing)


def vars_of(thing: object) -> Any:
    """The attributes of an object, if it has any of its own."""
    return getattr(thing, "__dict__", None)


def newest(thing: object) -> object:
    """A member that has come last, as far as one can tell."""
    try:
        if isinstance(thing, list | deque):
            return thing[-1]
        if isinstance(thing, dict):
            return thing[next(reversed(thing))]
        if isinstance(thing, set | frozenset):
            return next(iter(thing))
        if named := many_attributes(thing):
            return newest(named)
    except (LookupError, StopIteration, RuntimeError):
        pass
    return None


def _inside(member: object) -> list[object]:
    """What a small record has: `(step, loss)`, `{"params": [...]}`."""
    found: list[object] = []
    if isinstance(member, dict):
        found = list(islice(member.values(), NEWEST))
    elif isinstance(member, tuple | list):
        found = list(islice(member, NEWEST))
    return found + [one[0] for one in found if isinstance(one, list) and one]


def _bytes_each(thing: object) -> float:
    """About how many bytes one more member costs."""
    members: list[object] = []
    first: object = None
    extra = 8.0
    try:
        if isinstance(thing, list | deque):
            members = [thing[-i] for i in range(1, min(len(thing), NEWEST) + 1)]
            first = thing[0]
        elif isinstance(thing, dict):
            extra = 60.0
            keys = list(islice(reversed(thing), NEWEST))
            first = next(iter(thing.values()))
            members = [(key, thing[key]) for key in keys]
            extra -= 56.0
        elif isinstance(thing, set | frozenset):
            extra = 60.0
            members = list(islice(thing, NEWEST))
        elif isinstance(thing, _lru_cache_wrapper):
            inside = [
                one for one in get_referents(thing) if type(one) is dict and len(one) == length_of(thing)
            ]
            return _bytes_each(inside[0]) if inside else 500.0
        elif named := many_attributes(thing):
            return _bytes_each(named)
    except (LookupError, RuntimeError, TypeError):
        return extra
    seen: set[int] = set()
    if len(members) == NEWEST:
        deep_bytes(first, seen=seen)  # what it has is there already, such as the array that all are views of
    return extra + (sum(deep_bytes(one, seen=seen) for one in members) / len(members) if members else 0.0)
