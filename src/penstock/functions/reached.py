"""Which functions a function calls, as far as its code says, and what they read of modules."""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property, lru_cache, partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

_READS = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
_SKIPPED = frozenset({"CACHE", "EXTENDED_ARG"})

Read = tuple[str, str, Any]
"""The module, name and value of what is read."""


def reached(functions: Iterable[Any]) -> Iterator[tuple[FunctionType, list[Read]]]:
    """Functions, and those of users' modules that they call, each with what it reads of modules."""
    seen: dict[int, Any] = {}
    left = list(functions)
    while left:
        one = left.pop()
        if id(one) in seen:
            continue
        seen[id(one)] = one
        left += wrapped_in(one)
        if isinstance(one, FunctionType):
            reads = list(read_by(one))
            left += enclosed_by(one).values()
            values = [value for _, _, value in reads]
            values += [*(one.__defaults__ or ()), *(one.__kwdefaults__ or {}).values()]
            left += filter(_is_users, values)
            yield one, reads
        elif isinstance(one, partial):
            left += [one.func, *one.args, *one.keywords.values()]
        elif isinstance(one, MethodType):
            left += [one.__func__, one.__self__]
        elif not isinstance(one, ModuleType):
            left += _methods(one if isinstance(one, type) else type(one))


def wrapped_in(one: Any) -> list[Any]:
    """The functions inside of what a decorator has made."""
    if isinstance(one, property):
        return [function for function in (one.fget, one.fset) if function is not None]
    if isinstance(one, staticmethod | classmethod):
        return [one.__func__]
    if isinstance(one, cached_property):
        return [one.func]
    around = getattr(one, "__dict__", None)
    if not isinstance(around, dict):
        return []
    # `__wrapped__` is that of functools.wraps and lru_cache, `py_func` that of Numba.
    return [around[name] for name in ("__wrapped__", "py_func") if name in around]


def _is_users(value: Any) -> bool:
    """Whether it is a function, a class or an object of a class of the user's; or wraps something."""
    if isinstance(value, FunctionType):
        return not of_library(value.__globals__)
    return bool(wrapped_in(value)) or is_users_class(value if isinstance(value, type) else type(value))


def is_users_class(kind: type) -> bool:
    """Whether a class is of the user's, and not of a library."""
    name = str(kind.__module__)
    around = vars(sys.modules[name]) if name in sys.modules else {}
    return name == "__main__" or ("__file__" in around and not of_library(around))


def _methods(kind: type) -> list[FunctionType]:
    """The functions of a class of the user's, and of those that it is made of."""
    found: list[FunctionType] = []
    for base in filter(is_users_class, kind.__mro__):
        for value in vars(base).values():
            functions = [value] if isinstance(value, FunctionType) else wrapped_in(value)
            found += [one for one in functions if isinstance(one, FunctionType)]
    return [function for function in found if not of_library(function.__globals__)]


def read_by(function: FunctionType) -> Iterator[Read]:
    """The module, name and value of what a function reads of its own module, and of others by its name."""
    around, enclosed = function.__globals__, enclosed_by(function)
    for code in codes(function.__code__):
        module: ModuleType | None = None
        for step in steps(code):
            name = step.argval
            if step.opname == "LOAD_GLOBAL" and name in around:
                value = around[name]
                module = value if isinstance(value, ModuleType) else None
                if module is None:
                    yield str(around.get("__name__")), name, value
            elif step.opname == "IMPORT_NAME" and isinstance(sys.modules.get(name), ModuleType):
                yield from _imported(sys.modules[name], code)
                module = None
            elif step.opname == "LOAD_DEREF":
                module = enclosed[name] if isinstance(enclosed.get(name), ModuleType) else None
            elif step.opname in _READS and module is not None and name in vars(module):
                value = vars(module)[name]
                if not isinstance(value, ModuleType):
                    yield module.__name__, name, value
                module = value if isinstance(value, ModuleType) else None
            else:
                module = None


def _imported(module: ModuleType, code: CodeType) -> Iterator[Read]:
    """What code may read of a user's module that it imports itself."""
    around = {} if of_library(vars(module)) else vars(module)
    for name in code.co_names:
        if name in around and not isinstance(around[name], ModuleType):
            yield module.__name__, name, around[name]


def enclosed_by(function: FunctionType) -> dict[str, Any]:
    """What a function closes over, by name."""
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # it has none yet
            found[name] = cell.cell_contents
    return found


@lru_cache(maxsize=256)
def steps(code: CodeType) -> list[dis.Instruction]:
    """Its instructions, which every run of a pipeline asks for."""
    return [step for step in dis.get_instructions(code) if step.opname not in _SKIPPED]


def codes(code: CodeType) -> Iterator[CodeType]:
    """That of a function, and of those that are defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def named(module: str, name: str) -> Any:
    """What has that name in a module or in a class there; None if nothing has."""
    one: Any = sys.modules.get(module)
    for part in name.split("."):
        if not isinstance(one, type | ModuleType):
            return None
        private = isinstance(one, type) and part.startswith("__") and not part.endswith("__")
        one = vars(one).get(f"_{one.__name__.lstrip('_')}{part}" if private else part)
    return one


def has_file(module: str) -> bool:
    """Whether another process can import it."""
    return module != "__main__" and bool(getattr(sys.modules.get(module), "__file__", None))


def is_ours(module: str) -> bool:
    """Whether it is one of Penstock's."""
    return module.partition(".")[0] == __name__.partition(".")[0]


def of_library(around: dict[str, Any]) -> bool:
    """Whether that is what a module of a library defines, or of Python's own."""
    file = str(around.get("__file__", ""))
    inside = "site-packages" in file or file.startswith(sys.base_prefix)
    return inside or is_ours(str(around.get("__name__")))
