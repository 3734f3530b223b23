"""Whether functions are the same in another process, which has imported their modules by itself.

A module may have been edited since this process has imported it, or reloaded here and not there.
"""

from __future__ import annotations

import marshal
import sys
from collections.abc import Iterable
from types import FunctionType
from typing import Any

from penstock.functions.settings import has_file, of_library, reached

Versions = dict[tuple[str, str], bytes]
"""The code of functions, by their modules and names."""


def versions_of(functions: Iterable[Any]) -> Versions:
    """Those of functions, and of those of users' modules that they call, which another process can import."""
    found: Versions = {}
    for function, _ in reached(functions):
        module, name = str(function.__module__), function.__qualname__
        if has_file(module) and not of_library(function.__globals__):
            there = _called(module, name)
            if any(one is function for one in there):
                found[module, name] = marshal.dumps(tuple(one.__code__ for one in there))
    return found


def changed(versions: Versions) -> str:
    """A module of which functions are others in this process; empty if there is none."""
    for (module, name), code in versions.items():
        if module in sys.modules and tuple(one.__code__ for one in _called(module, name)) != marshal.loads(
            code
        ):
            return module
    return ""


def _called(module: str, name: str) -> list[FunctionType]:
    """The function of that name, and those that it is wrapped around."""
    one: Any = sys.modules.get(module)
    for part in name.split("."):
        one = getattr(one, part, None)
    found: list[FunctionType] = []
    while isinstance(one, FunctionType) and one not in found:
        found.append(one)
        one = getattr(one, "__wrapped__", None)
    return found
