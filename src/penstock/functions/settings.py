"""Data that functions read of modules: a process that imports these anew has what they began with."""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import suppress
from types import FunctionType, ModuleType
from typing import Any

from penstock.functions.data import DEEPEST, Room, is_record
from penstock.functions.reached import (
    Read,
    codes,
    has_file,
    is_ours,
    is_users_class,
    named,
    of_library,
    steps,
)

NEW = "?"
"""After the name of a record that is only to be there where the module has none yet."""
_CHANGES = ("STORE_ATTR", "DELETE_ATTR")

Settings = dict[str, dict[str, bytes]]
"""By module, and by name, each pickled by itself: one that cannot be is left out. What a class or record has
is called CLASS.NAME; a record that is to be there where the module has none yet, NAME?."""


def settings_of(
    functions: Iterable[tuple[FunctionType, list[Read]]], pickled: Callable[[Any], bytes]
) -> Settings:
    """What functions, each with what it reads, read of modules that have a file."""
    found: dict[tuple[str, str], Any] = {}
    states: set[tuple[str, str]] = set()
    changed: set[str] = set()
    for function, reads in functions:
        states.update(_set_by(function))
        changed.update(_changed_by(function))
        own = named(str(function.__module__), function.__qualname__.rpartition(".")[0])
        for kind in filter(_is_users, [own, *(value for _, _, value in reads)]):
            found[str(kind.__module__), kind.__qualname__] = kind
        found.update({(module, name): value for module, name, value in reads if not _is_users(value)})
    settings: Settings = {}
    room = Room()
    for (module, name), value in found.items():
        if has_file(module) and not is_ours(module) and (module, name) not in states:
            for setting, part in _parts(value, module, name, changed):
                if room.takes(part) or _is_put(part, module):
                    with suppress(Exception):  # anything may be wrong with an object of the user's own
                        settings.setdefault(module, {})[setting] = pickled(part)
    return settings


def _parts(value: Any, module: str, name: str, changed: Container[str]) -> Iterator[tuple[str, Any]]:
    """What travels of a value, by its names: objects that others may refer to stay the module's own."""
    if _is_users(value):
        if named(module, name) is value and not hasattr(value, "__members__"):  # those of an Enum stay
            for attribute, part in vars(value).items():
                # What can be changed in its place may be a cache of what means nothing in another process.
                kept = isinstance(part, dict | list | set) or is_record(part)
                if not kept and attribute not in changed and not attribute.startswith("__"):
                    yield f"{name}.{attribute}", part
    elif is_record(value) and name.count(".") < DEEPEST:
        yield f"{name}{NEW}", value
        for attribute, part in vars(value).items():
            if attribute not in changed:
                yield from _parts(part, module, f"{name}.{attribute}", changed)
    elif not is_record(value):
        yield name, value


def _is_users(value: Any) -> bool:
    return isinstance(value, type) and is_users_class(value)


def _is_put(value: Any, module: str) -> bool:
    """Whether it is a function or a class of elsewhere, which the program may have put into this module."""
    if not isinstance(value, FunctionType | type) or of_library(vars(sys.modules[module])):
        return False
    if isinstance(value, FunctionType) and value.__globals__ is vars(sys.modules[module]):
        return False  # it would take a copy of them along
    return value.__module__ != module and not is_ours(str(value.__module__))


def apply(settings: Settings, loads: Callable[[bytes], Any]) -> None:
    """Have the modules of this process so; those that are not loaded are not read."""
    for module, values in settings.items():
        for name, pickled in values.items() if module in sys.modules else ():
            *of, attribute = name.removesuffix(NEW).split(".")
            with suppress(Exception):  # a class may not let its attributes be set, say
                thing: Any = sys.modules[module]
                for part in of:
                    thing = getattr(thing, part)
                if not name.endswith(NEW) or getattr(thing, attribute, None) is None:
                    setattr(thing, attribute, loads(pickled))


def _changed_by(function: FunctionType) -> Iterator[str]:
    """The names of attributes that a function sets, unless that is how an object begins."""
    if function.__name__ not in ("__init__", "__post_init__"):
        for code in codes(function.__code__):
            yield from (step.argval for step in steps(code) if step.opname in _CHANGES)


def _set_by(function: FunctionType) -> Iterator[tuple[str, str]]:
    """The module and name of what a function sets itself: its state, such as a file that it has opened."""
    around = function.__globals__
    own = str(around.get("__name__"))
    for code in codes(function.__code__):
        found = steps(code)
        for i, step in enumerate(found):
            of, item_of = found[max(i - 1, 0)], found[max(i - 2, 0)]
            if step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                yield own, step.argval
            elif step.opname == "STORE_ATTR" and of.opname == "LOAD_GLOBAL":
                value = around.get(of.argval)
                yield (value.__name__, step.argval) if isinstance(value, ModuleType) else (own, of.argval)
            elif step.opname == "STORE_SUBSCR" and item_of.opname == "LOAD_GLOBAL":
                yield own, item_of.argval
