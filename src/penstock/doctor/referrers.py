"""Who keeps an object alive: from the object up to a module, a running function or a class."""

from __future__ import annotations

import gc
import sys
from types import CellType, CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any

from penstock.doctor.places import Places

DEEPEST = 14
WIDEST = 40
"""Of more referrers of one object, the others are not followed."""
BUSIEST = 60
"""So many objects are looked at, level by level."""


def chain_of(thing: object, places: Places) -> tuple[str, ...]:
    """The references that keep `thing` alive, from a name to the thing; empty where none was found."""
    gc.unfreeze()  # what was set aside can refer to it too
    try:
        return _search(thing, places)
    finally:
        gc.freeze()


def _search(thing: object, places: Places) -> tuple[str, ...]:
    level: list[tuple[object, tuple[str, ...]]] = [(thing, (type(thing).__name__,))]
    seen = {id(thing), id(level)}
    frames = {id(sys._getframe()), id(sys._getframe(1))}
    modules = {id(vars(m)): name for name, m in list(sys.modules.items()) if isinstance(m, ModuleType)}
    looked = 0
    fallback: tuple[str, ...] = ()
    for _ in range(DEEPEST):
        following: list[tuple[object, tuple[str, ...]]] = []
        for target, chain in level:
            looked += 1
            if looked > BUSIEST:
                return fallback
            found = gc.get_referrers(target)
            for one in found[:WIDEST]:
                if id(one) in seen or id(one) in frames or one is level or one is following or one is found:
                    continue
                if isinstance(one, FrameType) and not places.is_user(one.f_code.co_filename):
                    continue
                if isinstance(one, tuple) and any(one is mine for mine in (*level, *following)):
                    continue
                seen.add(id(one))
                end = _end(one, target, modules, places)
                if end is not None:
                    text, is_user = end
                    if is_user:
                        return (text, *chain)
                    fallback = fallback or (text, *chain)
                    continue
                label = _label(one, target)
                following.append((one, (label, *chain) if label else chain))
            del found
        if fallback:
            return fallback
        level = following
        if not level:
            break
    return fallback


def _end(one: object, target: object, modules: dict[int, str], places: Places) -> tuple[str, bool] | None:
    """The name where a way ends, and whether it is the user's."""
    name = modules.get(id(one))
    if name is not None and isinstance(one, dict):
        key = _key_of(one, target)
        file = one.get("__file__") or ""
        user = name == "__main__" or places.is_user(str(file) if file else "<")
        return (f"`{key}`" if user else f"`{name}.{key}`"), user
    if isinstance(one, FrameType):
        for key, value in one.f_locals.items():
            if value is target:
                return f"`{key}` in `{one.f_code.co_name}`", True
        return f"a value in `{one.f_code.co_name}`", True
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
