"""Plain data that functions read of modules: a process that imports these anew has what they began with."""

from __future__ import annotations

import dis
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache, partial
from types import CodeType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any

LARGEST, LONGEST, DEEPEST = 1000, 64 << 10, 4
"""Data of more items, of longer texts, or with more containers in one another is no setting."""
_PLAIN = (type(None), bool, int, float, complex)
_READS = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
_SKIPPED = frozenset({"CACHE", "EXTENDED_ARG"})

Settings = dict[str, dict[str, Any]]
"""By module, and by name."""
Read = tuple[str, str, Any]
"""The module, name and value of what is read."""


def settings_of(functions: Iterable[Any]) -> Settings:
    """What functions, and those of users' modules that they call, read of modules that have a file."""
    found: Settings = {}
    states: set[tuple[str, str]] = set()
    for function, reads in reached(functions):
        states.update(_set_by(function))
        for module, name, value in reads:
            if has_file(module) and not _is_ours(module) and _is_plain(value):
                found.setdefault(module, {})[name] = value
    for module, name in states:
        found.get(module, {}).pop(name, None)
    return found


def reached(functions: Iterable[Any]) -> Iterator[tuple[FunctionType, list[Read]]]:
    """Functions, and those of users' modules that they call, each with what it reads of modules."""
    seen: set[int] = set()
    left = list(functions)
    while left:
        function = left.pop()
        if id(function) in seen:
            continue
        seen.add(id(function))
        if isinstance(function, partial):
            left += [function.func, *function.args]
        elif isinstance(function, MethodType):
            left += [function.__func__, function.__self__]
        elif isinstance(function, FunctionType):
            left += enclosed_by(function).values()
            reads = list(read_by(function))
            called = [value for _, _, value in reads if isinstance(value, FunctionType)]
            left += [value for value in called if not of_library(value.__globals__)]
            yield function, reads
        elif not isinstance(function, type | ModuleType):
            left += _methods(type(function))


def apply(settings: Settings) -> None:
    """Have the modules of this process so; those that are not loaded are not read."""
    for name, values in settings.items():
        module = sys.modules.get(name)
        if module is not None:
            vars(module).update(values)


def read_by(function: FunctionType) -> Iterator[Read]:
    """The module, name and value of what a function reads of its own module, and of others by its name."""
    around, enclosed = function.__globals__, enclosed_by(function)
    for code in _codes(function.__code__):
        module: ModuleType | None = None
        for step in _steps(code):
            name = step.argval
            if step.opname == "LOAD_GLOBAL" and name in around:
                value = around[name]
                module = value if isinstance(value, ModuleType) else None
                if module is None:
                    yield str(around.get("__name__")), name, value
            elif step.opname == "LOAD_DEREF":
                module = enclosed[name] if isinstance(enclosed.get(name), ModuleType) else None
            elif step.opname in _READS and module is not None and name in vars(module):
                value = vars(module)[name]
                if not isinstance(value, ModuleType):
                    yield module.__name__, name, value
                module = value if isinstance(value, ModuleType) else None
            else:
                module = None


def _set_by(function: FunctionType) -> Iterator[tuple[str, str]]:
    """The module and name of what a function sets itself: its state, such as a file that it has opened."""
    around = function.__globals__
    own = str(around.get("__name__"))
    for code in _codes(function.__code__):
        steps = _steps(code)
        for i, step in enumerate(steps):
            of, item_of = steps[max(i - 1, 0)], steps[max(i - 2, 0)]
            if step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                yield own, step.argval
            elif step.opname == "STORE_ATTR" and of.opname == "LOAD_GLOBAL":
                value = around.get(of.argval)
                yield (value.__name__, step.argval) if isinstance(value, ModuleType) else (own, of.argval)
            elif step.opname == "STORE_SUBSCR" and item_of.opname == "LOAD_GLOBAL":
                yield own, item_of.argval


@lru_cache(maxsize=256)
def _steps(code: CodeType) -> list[dis.Instruction]:
    """Its instructions, which every run of a pipeline asks for."""
    return [step for step in dis.get_instructions(code) if step.opname not in _SKIPPED]


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def has_file(module: str) -> bool:
    """Whether another process can import it."""
    return module != "__main__" and bool(getattr(sys.modules.get(module), "__file__", None))


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == __name__.partition(".")[0]


def of_library(around: dict[str, Any]) -> bool:
    """Whether that is what a module of a library defines, or of Python's own."""
    file = str(around.get("__file__", ""))
    inside = "site-packages" in file or file.startswith(sys.base_prefix)
    return inside or _is_ours(str(around.get("__name__")))


def enclosed_by(function: FunctionType) -> dict[str, Any]:
    """What a function closes over, by name."""
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # it has none yet
            found[name] = cell.cell_contents
    return found


def _methods(kind: type) -> list[FunctionType]:
    """The functions of a class of the user's, and of those that it is made of."""
    all_of_them = [value for base in kind.__mro__ for value in vars(base).values()]
    functions = [value for value in all_of_them if isinstance(value, FunctionType)]
    return [function for function in functions if not of_library(function.__globals__)]


def _is_plain(value: Any) -> bool:
    left, items, texts = [(value, 0)], 0, 0
    while left:
        one, depth = left.pop()
        items += 1
        if type(one) in (str, bytes):
            texts += len(one)
        elif type(one) not in _PLAIN:
            if type(one) in (Namespace, SimpleNamespace):
                one = vars(one)
            if type(one) is dict:
                one = [*one.keys(), *one.values()]
            if type(one) not in (tuple, list, set, frozenset) or depth == DEEPEST or len(one) > LARGEST:
                return False
            left += [(item, depth + 1) for item in one]
        if items + len(left) > LARGEST or texts > LONGEST:
            return False
    return True
