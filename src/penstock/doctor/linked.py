"""Who keeps objects of a type; and chains of them, where each has the next."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from types import CellType, MethodType

from penstock.doctor.signals import kept_kind
from penstock.doctor.source import name_in
from penstock.doctor.walk import Node, World

BETWEEN, NEAR = (dict, tuple, CellType, MethodType), 3
"""What may be between two of them, and how many of it."""
LINKS = 30
"""Things of which each has the next, so many in a row, are a chain."""


@dataclass(frozen=True)
class Kept:
    """Who keeps objects of a type."""

    kind: str
    chain: tuple[str, ...]
    name: str = ""
    """The user's name at the beginning of the chain, and its file."""
    file: str = ""


def linked_names(world: World, kinds: set[str]) -> dict[str, Kept]:
    """Of types, the name of the user's whose object has another of its type, and that another, and so on."""
    known: dict[str, Kept] = {}
    for node in world.walk() if kinds else ():
        found = type(node.thing)
        kind = f"{found.__module__}.{found.__qualname__}"
        if kind not in kinds or f"type {kind}" in known or not _is_linked(node.thing):
            continue
        root = node.root()
        name = name_in(tuple(label for label in _labels(node)))
        inside = f" in `{root.scope}`" if root.scope else ""
        chain = (f"`{node.path()}`{inside}", found.__name__, found.__name__)
        said = Kept(kept_kind(node.thing, "") or "python-objects", chain, name, root.file)
        known[f"type {kind}"] = said
    return known


def _labels(node: Node) -> list[str]:
    found: list[str] = []
    at: Node | None = node
    while at is not None:
        found.append(at.label)
        at = at.above
    return found[::-1]


def _is_linked(thing: object) -> bool:
    seen = {id(thing)}
    for _ in range(LINKS):
        following = _linked(thing, seen)
        if following is None:
            return False
        seen.add(id(following))
        thing = following
    return True


def _linked(thing: object, seen: set[int]) -> object | None:
    """What a thing has that is like it: an object of its type, or what a function wraps, of the same code."""
    level, kind, code = [thing], type(thing), getattr(thing, "__code__", None)
    around = id(getattr(thing, "__globals__", None))
    for _ in range(NEAR):
        inside = [one for holder in level for one in gc.get_referents(holder) if id(one) != around]
        for one in inside:
            if type(one) is kind and id(one) not in seen and getattr(one, "__code__", None) is code:
                return one
        level = [one for one in inside if type(one) in BETWEEN]
    return None
