"""Whether functions are the same in another process, which has imported their modules by itself.

A module may have been edited since this process has imported it, or reloaded here and not there. What is
compared is what a function does: its code and its defaults, and not the lines that it stands in.
"""

from __future__ import annotations

import sys
from collections.abc import Container, Iterable
from functools import cached_property
from importlib.machinery import SourceFileLoader, SourcelessFileLoader
from types import CodeType, FunctionType, ModuleType
from typing import Any

try:
    from _blake2 import blake2b  # `hashlib` takes ten times as long to load
except ImportError:
    from hashlib import blake2b

from penstock.functions.reached import enclosed_by, has_file, named, of_library, reached, steps, wrapped_in

Versions = dict[tuple[str, str], bytes]
"""By the modules and names of functions: what is another for a function that does something else."""
_LOADERS = (SourceFileLoader, SourcelessFileLoader)
"""What another process loads a module with; others may make other code of it (pytest, of assertions)."""
_PLAIN = (type(None), bool, int, float, complex, str, bytes)


def versions_of(functions: Iterable[FunctionType]) -> Versions:
    """Those of functions in users' modules which another process can import."""
    found: Versions = {}
    for function in functions:
        module, name = str(function.__module__), function.__qualname__
        if has_file(module) and not of_library(function.__globals__) and _is_loaded_alike(module):
            there = _called(module, name)
            if any(one is function for one in there):
                found[module, name] = _version(there)
    return found


def changed(versions: Versions) -> str:
    """A module of which functions are others in this process; empty if there is none."""
    for (module, name), version in versions.items():
        if module in sys.modules and _version(_called(module, name)) != version:
            return module
    return ""


def compared(functions: Iterable[FunctionType], by_value: Container[str]) -> Versions:
    """Those of what a pickle has by name only, where functions of these modules are in it by value.

    What goes by name (a function in `lru_cache`, say) finds in its module what the file has by now.
    """
    found = versions_of(functions)
    by_name = [named(*key) for key in found if key[0] in by_value and not _goes_by_value(*key)]
    others = {key: version for key, version in found.items() if key[0] not in by_value}
    return {**others, **versions_of(function for function, _ in reached(by_name))}


def _goes_by_value(module: str, name: str) -> bool:
    kinds = (FunctionType, property, staticmethod, classmethod, cached_property)
    return isinstance(named(module, name), kinds)


def _is_loaded_alike(module: str) -> bool:
    return type(getattr(sys.modules[module].__spec__, "loader", None)) in _LOADERS


def _called(module: str, name: str) -> list[FunctionType]:
    """The function of that name, and those that it is wrapped around."""
    left: list[Any] = [named(module, name)]
    found: list[Any] = []
    while left:
        one = left.pop()
        if not any(one is before for before in found):
            found.append(one)
            left += wrapped_in(one)
    return [one for one in found if isinstance(one, FunctionType)]


def _version(functions: list[FunctionType]) -> bytes:
    parts = [(_code(one.__code__), _made_with(one)) for one in functions]
    return blake2b(repr(parts).encode(errors="surrogatepass"), digest_size=16).digest()


def _made_with(function: FunctionType) -> Any:
    """What a function has besides its code, as far as it cannot be changed in its place."""
    sets = {step.argval for step in steps(function.__code__) if step.opname == "STORE_DEREF"}
    enclosed = {name: value for name, value in enclosed_by(function).items() if name not in sets}
    by_name = {**(function.__kwdefaults__ or {}), **enclosed}
    return _constant((function.__defaults__, *by_name.items()))


def _code(code: CodeType) -> tuple[Any, ...]:
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
    return code.co_code, code.co_exceptiontable, names, counts, _constant(code.co_consts)


def _constant(value: Any) -> Any:
    if isinstance(value, CodeType):
        return _code(value)
    if type(value) is tuple:
        return tuple(map(_constant, value))
    if type(value) is frozenset:
        return sorted(repr(_constant(one)) for one in value)
    if type(value) is slice:
        return "slice", value.start, value.stop, value.step
    if isinstance(value, type | FunctionType | ModuleType):
        return value.__name__, getattr(value, "__module__", "")
    # A list or a dict may be what the function keeps its results in.
    return value if type(value) in _PLAIN else type(value).__qualname__
