"""Plain data that functions read of modules: a process that imports these anew has what they began with."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

from penstock.functions.reached import Read, codes, has_file, is_ours, steps

LARGEST, LONGEST, DEEPEST = 1000, 64 << 10, 4
"""Data of more items, of longer texts, or with more containers in one another is no setting."""
_PLAIN = (type(None), bool, int, float, complex)

Settings = dict[str, dict[str, Any]]
"""By module, and by name."""


def settings_of(functions: Iterable[tuple[FunctionType, list[Read]]]) -> Settings:
    """What functions, each with what it reads, read of modules that have a file."""
    found: Settings = {}
    states: set[tuple[str, str]] = set()
    for function, reads in functions:
        states.update(_set_by(function))
        for module, name, value in reads:
            if has_file(module) and not is_ours(module) and _is_plain(value):
                found.setdefault(module, {})[name] = value
    for module, name in states:
        found.get(module, {}).pop(name, None)
    return found


def apply(settings: Settings) -> None:
    """Have the modules of this process so; those that are not loaded are not read."""
    for name, values in settings.items():
        module = sys.modules.get(name)
        if module is not None:
            vars(module).update(values)


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
    left, items, texts = [(value, 0)], 0, 0
    while left:
        one, depth = left.pop()
        items += 1
        if type(one) in (str, bytes):
            texts += len(one)
        elif type(one) not in _PLAIN:
            if type(one) is SimpleNamespace or _is_arguments(one):
                one = vars(one)
            if type(one) is dict:
                one = [*one.keys(), *one.values()]
            if type(one) not in (tuple, list, set, frozenset) or depth == DEEPEST or len(one) > LARGEST:
                return False
            left += [(item, depth + 1) for item in one]
        if items + len(left) > LARGEST or texts > LONGEST:
            return False
    return True


def _is_arguments(one: Any) -> bool:
    """Whether it is what argparse has parsed; who has none has not loaded it."""
    parsing = sys.modules.get("argparse")
    return parsing is not None and type(one) is parsing.Namespace
