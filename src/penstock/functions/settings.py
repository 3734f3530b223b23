"""Plain data that functions read of modules: a process that imports these anew has what they began with."""

from __future__ import annotations

import sys
from collections.abc import Collection, Container, Iterable, Iterator
from contextlib import suppress
from functools import partial
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

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

LARGEST, LONGEST, DEEPEST, WIDEST = 10_000, 64 << 10, 4, 4 << 20
"""Data of more items, of longer texts, with more containers in one another, or of more bytes in arrays is no
setting."""
_PLAIN = (type(None), bool, int, float, complex, range, slice, np.generic, np.dtype)
_KINDS = {
    **dict.fromkeys(("Decimal", "Fraction"), "decimal fractions"),
    **dict.fromkeys(("date", "time", "timedelta"), "datetime"),
    "Enum": "enum",
    "PurePath": "pathlib pathlib._local",
}
"""Others that are data, and the modules that they are of: whoever has none has not loaded these."""
_CHANGES = ("STORE_ATTR", "DELETE_ATTR")

Settings = dict[str, dict[str, Any]]
"""By module, and by name; that of an attribute of a class has a dot in it."""


def settings_of(functions: Iterable[tuple[FunctionType, list[Read]]]) -> Settings:
    """What functions, each with what it reads, read of modules that have a file."""
    found: Settings = {}
    states: set[tuple[str, str]] = set()
    classes: dict[tuple[str, str], type] = {}
    changed: set[str] = set()
    for function, reads in functions:
        states.update(_set_by(function))
        found_steps = (step for code in codes(function.__code__) for step in steps(code))
        changed.update(step.argval for step in found_steps if step.opname in _CHANGES)
        own = named(str(function.__module__), function.__qualname__.rpartition(".")[0])
        for kind in filter(_is_users, [own, *(value for _, _, value in reads)]):
            classes[str(kind.__module__), kind.__qualname__] = kind
        for module, name, value in reads:
            if not _is_users(value) and _is_setting(value, module, name):
                found.setdefault(module, {})[name] = value
    for (module, name), kind in classes.items():
        if has_file(module) and named(module, name) is kind:
            found.setdefault(module, {}).update(_of_class(kind, name, changed))
    for module, name in states:
        for other in [other for other in found.get(module, ()) if other.partition(".")[0] == name]:
            del found[module][other]
    return found


def _is_users(value: Any) -> bool:
    return isinstance(value, type) and is_users_class(value)


def _of_class(kind: type, name: str, changed: Container[str]) -> Iterator[tuple[str, Any]]:
    """The data of a class, but for what functions change: that is their state."""
    if not hasattr(kind, "__members__"):  # those of an Enum stay
        for attribute, value in vars(kind).items():
            if not attribute.startswith("__") and attribute not in changed and _is_plain(value):
                yield f"{name}.{attribute}", value


def _is_setting(value: Any, module: str, name: str) -> bool:
    if not has_file(module) or is_ours(module):
        return False
    return _is_plain(value) or (isinstance(value, FunctionType | type) and _is_put(value, module, name))


def _is_put(value: FunctionType | type, module: str, name: str) -> bool:
    """Whether the program may have put it into a user's module: its own name is another one."""
    if of_library(vars(sys.modules[module])) or is_ours(value.__module__):
        return False
    own_name = value.__module__, value.__qualname__
    return not getattr(value, "__closure__", None) and own_name != (module, name)


def apply(settings: Settings) -> None:
    """Have the modules of this process so; those that are not loaded are not read."""
    for module, values in settings.items():
        for name, value in values.items() if module in sys.modules else ():
            of, _, attribute = name.rpartition(".")
            thing = named(module, of) if of else sys.modules[module]
            if thing is not None:
                with suppress(AttributeError, TypeError):  # a class may not let its attributes be set
                    setattr(thing, attribute, value)


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


def _is_plain(value: Any) -> bool:
    left, items, texts, wide = [(value, 0)], 0, 0, 0
    while left:
        one, depth = left.pop()
        items += 1
        if type(one) in (str, bytes):
            texts += len(one)
        elif type(one) is np.ndarray:
            wide += WIDEST + 1 if one.dtype.hasobject else one.nbytes
        elif not _is_one(one):
            parts = _parts(one)
            if parts is None or depth == DEEPEST or len(parts) > LARGEST:
                return False
            left += [(part, depth + 1) for part in parts]
        if items + len(left) > LARGEST or texts > LONGEST or wide > WIDEST:
            return False
    return True


def _is_one(value: Any) -> bool:
    """Whether it is data without parts."""
    if isinstance(value, _PLAIN):
        return type(value) in _PLAIN or isinstance(value, np.generic | np.dtype) or _is_kind(value)
    return _is_kind(value)


def _is_kind(value: Any) -> bool:
    kinds = type(value).__mro__
    return any(kind.__module__ in _KINDS.get(kind.__name__, "").split() for kind in kinds)


def _parts(value: Any) -> Collection[Any] | None:
    """What is in something that has parts which may be looked at; None if it is no such thing."""
    if type(value) is partial and _is_libraries(value.func):
        return [*value.args, *value.keywords.values()]
    if type(value) is SimpleNamespace or _is_arguments(value) or _is_record(value):
        value = vars(value)
    if type(value) is dict:
        return [*value.keys(), *value.values()]
    return value if type(value) in (tuple, list, set, frozenset) else None


def _is_record(value: Any) -> bool:
    """Whether it is an object of a dataclass."""
    return hasattr(type(value), "__dataclass_fields__") and hasattr(value, "__dict__")


def _is_libraries(value: Any) -> bool:
    """Whether every process finds it by its name."""
    name = getattr(value, "__qualname__", getattr(value, "__name__", ""))
    return named(str(getattr(value, "__module__", "")), str(name)) is value


def _is_arguments(one: Any) -> bool:
    """Whether it is what argparse has parsed; who has none has not loaded it."""
    parsing = sys.modules.get("argparse")
    return parsing is not None and type(one) is parsing.Namespace
