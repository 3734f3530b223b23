"""The members of a container that have come last, and about how many bytes one more costs."""

from __future__ import annotations

import sys
from collections import deque
from functools import _lru_cache_wrapper
from gc import get_referents
from itertools import islice

from penstock.doctor.sizes import VIEW, array_bytes, deep_bytes, length_of, many_attributes, owner_of

NEWEST = 5
RUNS = 64
"""Where members are views of blocks, so many are looked at to see some of the blocks whole."""
SLOT, ENTRY = 8.0, 60.0
"""The bytes that a list, and a dict or a set, has for one member."""


def newest(thing: object) -> object:
    """A member that has come last, as far as one can tell."""
    try:
        if isinstance(thing, list | tuple | deque):
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


def bytes_each(thing: object) -> float:
    """About how many bytes one more member costs."""
    if isinstance(thing, _lru_cache_wrapper):
        inside = [one for one in get_referents(thing) if type(one) is dict and len(one) == length_of(thing)]
        return bytes_each(inside[0]) if inside else 500.0
    named = None if isinstance(thing, dict) else many_attributes(thing)
    if named is not None:
        return bytes_each(named)
    extra = SLOT if isinstance(thing, list | tuple | deque) else ENTRY
    try:
        members = _last(thing)
    except (LookupError, RuntimeError, TypeError):  # another thread is at work on it
        return extra
    return extra + (_of_members(members, _first(thing)) if members else 0.0)


def _last(thing: object) -> list[tuple[object, ...]]:
    """The last members, the newest first; those of a dict with their keys."""
    if isinstance(thing, list | tuple | deque):
        return [(thing[-i],) for i in range(1, min(len(thing), RUNS) + 1)]
    if isinstance(thing, dict):
        return [(key, thing[key]) for key in islice(reversed(thing), RUNS)]
    return [(one,) for one in islice(thing, NEWEST)] if isinstance(thing, set | frozenset) else []


def _first(thing: object) -> object:
    try:
        if isinstance(thing, list | tuple | deque):
            return thing[0]
        return next(iter(thing.values())) if isinstance(thing, dict) else None
    except (LookupError, StopIteration, RuntimeError):
        return None


def _of_members(members: list[tuple[object, ...]], first: object) -> float:
    seen: set[int] = set()
    if len(members) >= NEWEST:
        deep_bytes(first, seen=seen)  # what it has is there already, such as the array that all are views of
    owners = [_owner(one) for one in members]
    if len(owners) < 2 or owners[0] is None or owners[0] != owners[1] or owners[0] in seen:
        return sum(_bytes(one, seen) for one in members[:NEWEST]) / len(members[:NEWEST])
    # Views of blocks: of the newest and of the oldest block that is seen, members may be missing.
    start = next((i for i, owner in enumerate(owners) if owner != owners[0]), len(owners))
    stop = next((i + 1 for i in reversed(range(len(owners))) if owners[i] != owners[-1]), 0)
    whole = members[start:stop]
    if whole:
        return sum(_bytes(one, seen) for one in whole) / len(whole)
    return sum(_view(one) for one in members) / len(members)


def _arrays(member: tuple[object, ...]) -> list[object]:
    found: list[object] = []
    for one in member:
        inside = list(islice(one.values(), NEWEST)) if isinstance(one, dict) else [one]
        inside = list(islice(one, NEWEST)) if isinstance(one, list | tuple) else inside
        found += [array for array in inside if type(array).__module__ == "numpy"]
    return found


def _owner(member: tuple[object, ...]) -> int | None:
    """The array of which the first array of a member is a view."""
    for one in _arrays(member):
        owner = owner_of(one)
        return None if owner is None else id(owner)
    return None


def _view(member: tuple[object, ...]) -> float:
    """The bytes of the items that views show."""
    return float(sum(VIEW + int(getattr(one, "nbytes", 0)) for one in _arrays(member)))


def _bytes(member: tuple[object, ...], seen: set[int]) -> int:
    total = 0
    for one in member:
        if (
            isinstance(one, type) and id(one) not in seen
        ):  # a class that was made at work, with all that it has
            seen.add(id(one))
            total += sys.getsizeof(one) + deep_bytes(dict(vars(one)), seen=seen)
        elif array_bytes(one) is not None or not isinstance(one, type):
            total += deep_bytes(one, seen=seen)
    return total
