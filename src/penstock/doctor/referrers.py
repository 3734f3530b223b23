"""Who keeps an object alive: from the object up to a module, a running function or a class."""

from __future__ import annotations

import gc
import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from types import CellType, CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any

from penstock.doctor.places import Places, names_of

DEEPEST = 14
WIDEST = 40
"""Of more referrers of one object, the others are not followed."""
LARGER = (list, dict, set, deque)
ANONYMOUS = "?"
"""A value that has no name in the function that works with it."""
BUSIEST = 60
"""So many objects are looked at, level by level."""


LARGE = 20
"""A container with so many members may be what keeps them; an object has fewer attributes."""
Way = tuple[object, tuple[str, ...], object]
"""An object, the chain from it to the thing, and the largest container on it, if there is a large one."""


@dataclass(frozen=True)
class Chain:
    """The references that keep a thing alive, from a name to the thing; empty where none was found."""

    labels: tuple[str, ...] = ()
    name: str = ""
    """The user's name at the beginning, and its file."""
    file: str = ""
    holder: object = None
    """A large container of a module's that is on the way."""
    alone: bool = False
    """Whether nothing refers to it: native code has it."""


def chain_of(thing: object, places: Places, askers: Sequence[object] = ()) -> Chain:
    """Who keeps `thing` alive, but for those who ask."""
    gc.unfreeze()  # what was set aside can refer to it too
    try:
        return _search(thing, places, {id(one) for one in askers})
    finally:
        gc.freeze()


def _search(thing: object, places: Places, askers: set[int]) -> Chain:
    level: list[Way] = [(thing, (type(thing).__name__,), None)]
    seen = {id(thing), id(level), *askers}
    frames = {id(sys._getframe()), id(sys._getframe(1))}
    named = _locals(places)
    modules = {id(vars(m)): name for name, m in list(sys.modules.items()) if isinstance(m, ModuleType)}
    looked = 0
    fallback = Chain()
    for _ in range(DEEPEST):
        following: list[Way] = []
        for target, chain, holder in level:
            looked += 1
            if id(target) in named:
                name, function, file = named[id(target)]
                return Chain((f"`{name}` in `{function}`", *chain), name, file)
            if looked > BUSIEST:
                return fallback
            found = gc.get_referrers(target)
            for one in found[:WIDEST]:
                if id(one) in seen or id(one) in frames or one is level or one is following or one is found:
                    continue
                if isinstance(one, FrameType) and not places.is_user(one.f_code.co_filename):
                    continue
                if type(one).__module__.startswith("penstock.doctor."):
                    continue
                if isinstance(one, tuple) and any(one is mine for mine in (*level, *following)):
                    continue
                seen.add(id(one))
                end = _end(one, target, modules, places)
                if end is not None:
                    text, name, file = end
                    if name:
                        return Chain((text, *chain), name, file, _lasting(one, holder))
                    fallback = fallback if fallback.labels else Chain((text, *chain), holder=holder)
                    continue
                label = _label(one, target)
                following.append((one, (label, *chain) if label else chain, _larger(one, holder)))
            del found
        if fallback.labels:
            return fallback
        if not following:
            return Chain(alone=level[0][0] is thing)
        level = following
    return fallback


def _locals(places: Places) -> dict[int, tuple[str, str, str]]:
    """What the user's functions at work have by name: no object refers to it but the frame at work."""
    found: dict[int, tuple[str, str, str]] = {}
    for frame in (one for inner in sys._current_frames().values() for one in places.stack(inner)):
        code = frame.f_code
        if code.co_name != "<module>":
            found.update((id(v), (k, code.co_name, code.co_filename)) for k, v in names_of(frame).items())
    return found


def _larger(one: object, holder: Any) -> object:
    """The container that has more members."""
    return one if isinstance(one, LARGER) and len(one) >= max(LARGE, len(holder or ())) else holder


def _lasting(end: object, holder: object) -> object:
    """Not what a running function has: it goes with it."""
    return None if isinstance(end, FrameType) else holder


def _end(one: object, target: object, modules: dict[int, str], places: Places) -> tuple[str, str, str] | None:
    """Where a way ends, in words; with the name and its file where they are the user's."""
    name = modules.get(id(one))
    if name is not None and isinstance(one, dict):
        key = _key_of(one, target)
        file = one.get("__file__") or ""
        user = name == "__main__" or places.is_user(str(file) if file else "<")
        return (f"`{key}`", str(key), str(file)) if user else (f"`{name}.{key}`", "", "")
    if isinstance(one, FrameType):
        code = one.f_code
        for key, value in one.f_locals.items():
            if value is target:
                return f"`{key}` in `{code.co_name}`", key, code.co_filename
        return f"a value in `{code.co_name}`", ANONYMOUS, code.co_filename
    return None


def _label(one: object, target: object) -> str:
    if isinstance(one, dict):
        key = _key_of(one, target)
        return f"[{key!r:.40}]" if key is not None else ""
    if isinstance(one, CellType | MethodType | CodeType):
        return ""
    if isinstance(one, FunctionType):
        return f"function `{one.__qualname__}`"
    if isinstance(one, list | tuple | set | frozenset):
        return f"a {type(one).__name__} of {len(one):,}"
    if isinstance(one, type):
        return f"class `{one.__qualname__}`"
    return type(one).__name__


def _key_of(holder: dict[Any, Any], target: object) -> Any:
    return next((key for key, value in list(holder.items()) if value is target), None)
