"""What a function changes outside of itself: in another process, nobody would see it.

The answer is read from bytecode, as in `purity`, and errs on the other side: what is not seen to
change something counts as harmless. It decides where calls are made when nobody has said so, never what
comes of them.
"""

from __future__ import annotations

import builtins
import dis
import io
import logging
import os
import random
import sys
import types
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from penstock.functions.writes import loaded_name, nested_codes, written

_CHANGES = frozenset(
    """
    add append appendleft clear discard extend extendleft fill insert pop popitem popleft put remove reverse
    set setdefault sort update write writelines
    """.split()  # noqa: SIM905
)
"""Attributes by which a container, an event or a file is changed."""
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_TORCHS = frozenset({"bernoulli", "multinomial", "normal", "rand", "randint", "randn", "randperm"})
"""What of torch draws from its generator."""
_NOTHING = object()
_DEPTH = 4
_NUMPYS = "numpy.random"
"""NumPy loads it when it is first used, which takes longer than the rest of this module."""


def effects(functions: Iterable[Any]) -> str:
    """What calls of these functions change here, in words; empty if that is nothing that can be seen."""
    for function in functions:
        why = _Look().at(function, _DEPTH)
        if why:
            return why
    return ""


class _Look:
    """Looks at a function and at those of the user's that it calls."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def at(self, function: Any, depth: int) -> str:
        if id(function) in self._seen or depth < 0:
            return ""
        self._seen.add(id(function))
        if isinstance(function, partial):
            parts = (function.func, *function.args, *function.keywords.values())
            return next(filter(None, (self._value(part, "an argument", depth) for part in parts)), "")
        if isinstance(function, types.MethodType):
            return self._code(function.__func__, depth, function.__self__) or self._state(function.__self__)
        if isinstance(function, types.FunctionType):
            return self._code(function, depth)
        return self._code(type(function).__call__, depth, function)

    def _code(self, function: Any, depth: int, stays: Any = _NOTHING) -> str:
        """Of a function's own code; its first argument is an object that stays, if there is one."""
        if not isinstance(function, types.FunctionType) or _of_library(function):
            return ""
        for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            if why := self._value(value, "a default", depth):
                return why
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        own = () if stays is _NOTHING else function.__code__.co_varnames[:1]
        for code in nested_codes(function.__code__):
            instructions = [one for one in dis.get_instructions(code) if one.opname != "CACHE"]
            for i, one in enumerate(instructions):
                why = written(instructions, i, cells, own)
                if not why and one.opname == "LOAD_GLOBAL":
                    value = function.__globals__.get(one.argval, getattr(builtins, one.argval, None))
                    why = self._used(value, one.argval, instructions[i + 1], depth)
                elif not why and one.opname == "LOAD_DEREF" and one.argval in cells:
                    why = self._used(_content(cells[one.argval]), one.argval, instructions[i + 1], depth)
                elif not why and one.opname.startswith("LOAD_FAST") and loaded_name(one) in own:
                    why = self._of_own(stays, *instructions[i : i + 3], depth=depth)
                if why:
                    return why
        return ""

    def _of_own(self, stays: Any, loads: dis.Instruction, *after: dis.Instruction, depth: int) -> str:
        """What comes of an attribute of an object that stays, given the instructions after its name."""
        if len(after) < 2 or after[0].opname not in _ATTRIBUTES:
            return ""
        name = after[0].argval
        value, is_its_own = _attribute(stays, name)
        if isinstance(value, types.FunctionType) and not is_its_own:  # a method
            if id(value) in self._seen or depth < 1:
                return ""
            self._seen.add(id(value))
            return self._code(value, depth - 1, stays)
        if after[1].argval in _CHANGES and not _is_changed_so(value):
            return self._value(value, f"{loaded_name(loads)}.{name}", depth)
        return self._used(value, f"{loaded_name(loads)}.{name}", after[1], depth)

    def _used(self, value: Any, name: str, after: dis.Instruction, depth: int) -> str:
        """What comes of a value from outside, given the instruction after the one that loads it."""
        attribute = after.argval if after.opname in _ATTRIBUTES else ""
        if attribute in _CHANGES and not isinstance(value, types.ModuleType):
            return f"it calls {name}.{attribute}()"
        if value is np and attribute == "random":
            return "it draws from np.random, whose state is one for all calls"
        if value is random or (value is not None and value is sys.modules.get(_NUMPYS)):
            return f"it draws from {name}, whose state is one for all calls"
        if attribute in _TORCHS and value is not None and value is sys.modules.get("torch"):
            return f"it draws from {name}, whose state is one for all calls"
        return self._value(value, name, depth)

    def _value(self, value: Any, name: str, depth: int) -> str:
        why = self._state(value)
        if why:
            return f"{name} {why}"
        if isinstance(value, types.FunctionType | types.MethodType | partial):
            return self.at(value, depth - 1)
        return ""

    def _state(self, value: Any) -> str:
        if value is print:
            return "shows something"
        if isinstance(value, logging.Logger):
            return "is a log"
        if value is hash:
            return "gives other numbers for the same text in another process"
        if isinstance(value, types.BuiltinMethodType | types.MethodType):
            value = value.__self__  # such as `random.random`
        if isinstance(value, random.Random) or (_NUMPYS in sys.modules and _is_numpys(value)):
            return "draws numbers that depend on those before"
        return ""


def _is_numpys(value: Any) -> bool:
    return isinstance(value, np.random.Generator | np.random.RandomState)


def _attribute(thing: Any, name: str) -> tuple[Any, bool]:
    """What an attribute is, and whether it is the object's own: calls nothing of the user's to find out."""
    around: Any = {}
    with suppress(AttributeError):
        around = object.__getattribute__(thing, "__dict__")
    if isinstance(around, dict) and name in around:
        return around[name], True
    return next((vars(kind)[name] for kind in type(thing).__mro__ if name in vars(kind)), None), False


def _is_changed_so(value: Any) -> bool:
    """Whether methods with names such as `add` and `sort` change it, and do not give another one."""
    kinds = (list, dict, set, bytearray, deque, np.ndarray, io.IOBase)
    return isinstance(value, kinds) or type(value).__module__ in ("_queue", "queue", "threading")


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _of_library(function: types.FunctionType) -> bool:
    path = function.__code__.co_filename
    module = function.__module__ or ""
    return (
        "site-packages" in path or f"{os.sep}lib{os.sep}python" in path or module.split(".")[0] == "penstock"
    )
