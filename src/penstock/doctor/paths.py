"""Containers and buffers that the user's names lead to, and how long they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import _lru_cache_wrapper
from itertools import islice
from linecache import getline
from types import CodeType, FrameType

from penstock.doctor.aliases import Alias, aliases
from penstock.doctor.anew import Beginning
from penstock.doctor.book import Book
from penstock.doctor.inside import inside_of
from penstock.doctor.members import NEWEST, bytes_each, newest
from penstock.doctor.places import Places
from penstock.doctor.signals import has_more, history_of, kept_kind
from penstock.doctor.signals.torch_graphs import moment
from penstock.doctor.sizes import (
    CONTAINERS,
    array_bytes,
    bounded,
    buffer_of,
    first_inside,
    inner_length,
    length_of,
)
from penstock.doctor.walk import Node, World
from penstock.doctor.ways import way_to

MEMBERS, BYTES, NODES = "members", "bytes", "nodes of a graph"
EACH = {BYTES: 1.0, NODES: 0.0}
"""The bytes of one: of a node nobody knows them."""
PLAIN = ("growing-container", "growing-buffer", "unbounded-cache")
"""Kinds of which the bytes decide; the others are no bookkeeping however small."""
LENGTH, INNER = "length ", "inside "
"""How the keys begin of containers, and of the many that are kept in one, all together."""
LITTLE = 200.0
MANY = 64
"""Of a record so many things are looked at."""
SMALLEST = 256
"""Buffers of fewer bytes are not looked at."""


@dataclass
class Described:
    """Something that has grown, in words: nothing of it is kept alive."""

    path: str
    labels: tuple[str, ...]
    scope: str
    file: str
    type: str
    unit: str
    """What its length is counted in: members, bytes, or nodes of a graph."""
    bounded: bool
    inside: bool
    """Whether it is inside of a library's object."""
    owners: tuple[str, ...]
    """The types on the way to it."""
    files: tuple[str, ...] = ()
    """Those of the user's classes on the way to it, and its own."""
    met: bool = False
    """Whether no name leads to it: the first label is its class, or where a library has it."""
    made_line: int = 0
    """Of a cache: the line that declares it."""
    length: float = 0
    each: float = 0.0
    """About how many bytes one more costs."""
    member: str = ""
    made_up: bool = False
    """Whether its members are objects of a library's with attributes of their own: no mere numbers."""
    things: int = 1
    """How many things of its kind are in a member, such as the arrays of a model."""
    unseen: bool = False
    """Whether more hangs on a member than one can see: a graph, gradients, what an optimizer has of it."""
    kind: str = "growing-container"
    beginning: Beginning = field(default_factory=Beginning)
    aliases: set[Alias] = field(default_factory=set)
    """What functions call it that other threads are at."""


class Paths:
    """Reads them at every sample, and describes those that have grown."""

    def __init__(self, places: Places, book: Book) -> None:
        self.world = World(places)
        self.book = book
        self.described: dict[str, Described] = {}

    def read(self) -> None:
        """Put the length of everything into the book."""
        moment()
        for node in self.world.walk():
            key, value = measured(node)
            if value is not None and self.book.follow(key, value):
                self._describe(key, node, value)
            total = inner_length(node.thing)
            if total is not None and self.book.follow(f"{INNER}{node.key}", total):
                first = first_inside(node.thing)
                below = Node(first, node.key, node, "[...]", node.depth + 1, node.foreign)
                self._describe(f"{INNER}{node.key}", below, total)

    def _describe(self, key: str, node: Node, value: float) -> None:
        known = self.described.get(key)
        if known is None:
            if len(self.described) > 1000:
                return
            known = self.described[key] = self._new(node)
        known.beginning.see(node.thing, value, known.unit == NODES)
        if value > 1.5 * known.length:
            known.length = value
            known.each = EACH[known.unit] if known.unit in EACH else bytes_each(node.thing)
            member = newest(node.thing)
            known.member = type(member).__name__ if known.unit == MEMBERS else ""
            plain = inside_of(member) is None or array_bytes(member) is not None
            known.made_up = not plain and not self.world.of_user(type(member))
            known.unseen = any(map(has_more, [member, *_inside(member)]))
            known.kind = self._kind(node, member)
            known.things = 1 if known.kind in PLAIN else things_in(member, known.kind, node.label)
        del node

    def _kind(self, node: Node, member: object) -> str:
        if isinstance(node.thing, _lru_cache_wrapper):
            return "unbounded-cache"
        buffer = length_of(node.thing) is None
        for one in [node.thing] if buffer else [member, *_inside(member)]:
            found = kept_kind(one, node.label)
            if found is not None:
                return found
        return "growing-buffer" if buffer else "growing-container"

    def _new(self, node: Node) -> Described:
        labels, owners, files = [], [], []
        at: Node | None = node
        while at is not None:
            labels.append(at.label)
            owners.append(type(at.thing).__qualname__)
            files += self.world.file_of(type(at.thing))
            at = at.above
        root, thing = node.root(), node.thing
        code = getattr(getattr(thing, "__wrapped__", None), "__code__", None)
        made_line = cache_line(code) if isinstance(thing, _lru_cache_wrapper) and code is not None else 0
        return Described(
            node.path(),
            tuple(labels[::-1]),
            root.scope,
            root.file,
            type(thing).__name__,
            self._unit(thing),
            bounded(thing),
            node.foreign > 0 and not (node.above and self.world.of_user(type(node.above.thing))),
            tuple(owners[::-1]),
            tuple(dict.fromkeys([*files, root.file])),
            root.met,
            made_line,
        )

    def matters(self, key: str) -> bool:
        """Whether a container that grows is more than bookkeeping, as a list of losses is."""
        known = self.described.get(key) if key.startswith((LENGTH, INNER)) else None
        return known is not None and (known.kind not in PLAIN or known.each >= LITTLE)

    @staticmethod
    def _unit(thing: object) -> str:
        if length_of(thing) is not None:
            return MEMBERS
        return BYTES if history_of(thing) is None else NODES

    def probes(self, keys: set[str]) -> dict[str, Callable[[FrameType], float | None]]:
        """How to read the length of each, quickly, for as long as the probes are kept."""
        found: dict[str, Callable[[FrameType], float | None]] = {}
        owners: dict[int, str] = {}
        for node in self.world.walk():
            key, _ = measured(node)
            if key in keys and key not in found:
                found[key] = _probe(node)
                owners[id(node.thing)] = key
                if node.above is not None and not isinstance(node.above.thing, CONTAINERS):
                    owners.setdefault(id(node.above.thing), key)  # the queue, of what a queue has
        for key, alias in aliases(self.world.places, owners):
            if key in self.described:
                self.described[key].aliases.add(alias)
        return found


def measured(node: Node) -> tuple[str, float | None]:
    """The key of a container, a history or a buffer, and how long it is."""
    length = length_of(node.thing)
    if length is not None:
        return f"{LENGTH}{node.key}", float(length)
    past = history_of(node.thing)
    if past is not None:
        return f"history {node.key}", float(past)
    size = buffer_of(node.thing)
    return f"buffer {node.key}", float(size) if size is not None and size >= SMALLEST else None


def _probe(node: Node) -> Callable[[FrameType], float | None]:
    read, measure = way_to(node), _measures(node.thing)

    def probe(frame: FrameType) -> float | None:
        thing = read(frame)
        value = None if thing is None else measure(thing)
        return None if value is None else float(value)

    return probe


def _measures(thing: object) -> Callable[[object], int | None]:
    """What of a thing is read: how long it is, how long its history is, or how many bytes it has."""
    ways = (length_of, history_of, buffer_of)
    return next((one for one in ways if one(thing) is not None), buffer_of)


def _inside(member: object) -> list[object]:
    """What a small record has: `(step, loss)`, `(step, {"params": [...]})`; deeper, the first of each."""
    found = _some(member, NEWEST)
    deeper = [first for one in found for first in _some(one, 1)]
    return [*found, *deeper, *(first for one in deeper for first in _some(one, 1))]


def things_in(member: object, kind: str, where: str) -> int:
    """How many things of a kind a record has, and those in it; one at least."""
    left, found, seen = [member], 0, 0
    while left and seen < MANY:
        one = left.pop()
        seen += 1
        inside = _some(one, MANY)
        left += inside
        found += not inside and kept_kind(one, where) == kind
    return max(1, found)


def _some(thing: object, count: int) -> list[object]:
    inside = thing.values() if isinstance(thing, dict) else thing if isinstance(thing, tuple | list) else ()
    return list(islice(inside, count))


def cache_line(code: CodeType) -> int:
    """The line of a function's decorators that caches it."""
    first = number = code.co_firstlineno
    while (text := getline(code.co_filename, number).lstrip()).startswith("@"):
        if "cache" in text:
            return number
        number += 1
    return first
