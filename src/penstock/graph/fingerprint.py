"""What a pipeline computes, in lines of text that are equal for equal pipelines."""

from __future__ import annotations

import dis
import os
import zlib
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from dataclasses import Field, fields, is_dataclass
from functools import partial
from hashlib import blake2b
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.spec import Spec, TensorSpec
from penstock.blocks.structure import Structure
from penstock.graph.op import SAID, Op, fresh_seed
from penstock.graph.running import Pipeline

SAMPLE = 4096
"""So many items of an array are looked at."""
DEPTH = 6
"""Values inside values are followed so far."""
UNSEEN = {"fingerprint": False}
"""Metadata of a field that does not change what an op gives."""


MOST = 2_000
"""Of so many items in containers it is noted before a first run what they are."""


class _TooMuch(Exception):  # noqa: N818
    """There is more to go through than was asked for."""


_left: ContextVar[list[int] | None] = ContextVar("penstock_fingerprint_left", default=None)
"""How many items of containers may still be gone through."""
_within: ContextVar[tuple[CodeType, ...]] = ContextVar("penstock_fingerprint", default=())
"""The functions whose globals are being looked at: one that calls itself is not followed again."""


def fingerprint(op: Op) -> list[tuple[str, str]]:
    """For every op, the sources first, how it reads and what its arguments come down to."""
    lines: list[tuple[str, str]] = []
    for above in op.inputs:
        lines += fingerprint(above)
    said = ";".join(f"{name}={what}" for name, what in _fields_of(op).items())
    return [*lines, (op.named(None).describe(), said)]


def digest_of(op: Op) -> tuple[tuple[str, str], ...]:
    """The fingerprint, short enough to be kept in a file: what each op was declared with, and a hash."""
    return tuple(
        (said, blake2b(rest.encode(errors="surrogatepass"), digest_size=16).hexdigest())
        for said, rest in fingerprint(op)
    )


def first_difference(ours: list[tuple[str, str]], theirs: list[tuple[str, str]]) -> str:
    """What differs between two fingerprints, in words; nothing if they are equal."""
    for mine, its in zip(ours, theirs, strict=False):
        if mine[0] != its[0]:
            return f"it has {its[0]} where this one has {mine[0]}"
        if mine[1] != its[1]:
            return f"its {its[0]} has another function, other data or other settings than this one"
    if len(ours) != len(theirs):
        return f"it has {len(theirs)} ops and this one has {len(ours)}"
    return ""


def arguments_of(op: Op) -> dict[str, str]:
    """What each argument of an op comes down to, but for those that never change what it gives."""
    said = op.__dict__.get(SAID) or _fields_of(op)
    return {name: what for name, what in said.items() if name not in op.tuning}


def remember(op: Op) -> None:
    """Have `arguments_of` say later what the arguments come down to now, before functions are called.

    These may change what they refer to: they count, or fill a table when they are first called. What is
    much to go through is left alone.
    """
    if SAID in op.__dict__:
        return
    token = _left.set([MOST])
    try:
        said = _fields_of(op)
    except _TooMuch:
        return
    finally:
        _left.reset(token)
    op.__dict__[SAID] = said  # whole: another thread may ask


def _fields_of(op: Op) -> dict[str, str]:
    return {part.name: _of(getattr(op, part.name), DEPTH - 1) for part in _seen_fields(op)}


def _seen_fields(op: Op) -> Iterator[Field[Any]]:
    for part in fields(op):
        hidden = part.name in ("inputs", "site") or part.default_factory is fresh_seed
        if not hidden and part.metadata.get("fingerprint", True):
            yield part


def _of(value: Any, depth: int) -> str:
    if depth < 0:
        return type(value).__qualname__
    if isinstance(value, np.ndarray):
        return _of_array(value, depth)
    if value is None or isinstance(value, int | float | complex | str | bytes | np.generic | np.dtype):
        return repr(value)
    if isinstance(value, Structure | TensorSpec | Spec):
        return str(value)
    if isinstance(value, tuple | list | set | frozenset | dict):
        return _of_container(value, depth)
    if isinstance(value, Op):
        return "|".join(f"{name}:{rest}" for name, rest in fingerprint(value))
    if isinstance(value, Pipeline):
        return _of(value.op, depth)
    if isinstance(value, CodeType):
        return _of_code(value, depth)
    if callable(value):
        return _of_function(value, depth)
    if is_dataclass(value) and not isinstance(value, type):
        return _of(vars(value), depth) if hasattr(value, "__dict__") else repr(value)
    return type(value).__qualname__


def _of_container(value: Any, depth: int) -> str:
    left = _left.get()
    if left is not None:
        left[0] -= len(value)
        if left[0] < 0:
            raise _TooMuch
    items: Iterable[Any] = value.items() if isinstance(value, dict) else value
    said = [_of(item, depth - 1) for item in items]
    if isinstance(value, set | frozenset):
        said.sort()
    return f"{type(value).__name__}({','.join(said)})"


def _of_array(array: NDArray[Any], depth: int) -> str:
    flat = array.reshape(-1) if array.flags.c_contiguous else array.flat  # which is no copy
    sample = flat[:: max(1, array.size // SAMPLE)]
    if array.dtype == object:
        content = ",".join(_of(item, depth - 1) for item in sample[:64])
    else:
        content = f"{zlib.crc32(np.ascontiguousarray(sample).view(np.uint8).data):08x}"
    return f"{array.dtype}{list(array.shape)}:{content}"


def _of_function(function: Any, depth: int) -> str:
    if isinstance(function, MethodType):
        return f"{_of(function.__self__, depth - 1)}.{_of(function.__func__, depth - 1)}"
    if isinstance(function, partial):
        inside = (function.func, function.args, function.keywords)
        return f"partial{_of(inside, depth - 1)}"
    if isinstance(function, FunctionType):
        cells = [_cell(cell) for cell in function.__closure__ or ()]
        parts = (function.__code__, function.__defaults__, function.__kwdefaults__, cells)
        return f"{_of(parts, depth)}{_of_globals(function, depth)}"
    if isinstance(function, BuiltinFunctionType | type | np.ufunc):
        return f"{getattr(function, '__module__', '')}.{function.__name__}"
    state = vars(function) if hasattr(function, "__dict__") else {}
    return f"{type(function).__qualname__}{_of(state, depth - 1)}"


def _of_globals(function: FunctionType, depth: int) -> str:
    """What a function reads of its module, where the value tells: a constant, an array, a function.

    What else there is, lists and dicts among it, is often changed while a pipeline runs.
    """
    within = _within.get()
    if function.__code__ in within:
        return ""
    token = _within.set((*within, function.__code__))
    try:
        said = []
        for name in sorted(_names_read(function.__code__)):
            value = function.__globals__.get(name)
            if isinstance(value, FunctionType) and _from_library(value):
                said.append(f"{name}={value.__module__}.{value.__qualname__}")
            elif _tells(value):
                said.append(f"{name}={_of(value, depth - 1)}")
    finally:
        _within.reset(token)
    return f"[{';'.join(said)}]" if said else ""


def _names_read(code: CodeType) -> set[str]:
    """The globals that a function, or one inside of it, reads and does not itself set."""
    read, written = set(), set()
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            read.add(step.argval)
        elif step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            written.add(step.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            read |= _names_read(constant)
    return read - written


def _tells(value: Any) -> bool:
    if isinstance(value, tuple | frozenset):
        return all(map(_tells, value))
    plain = bool | int | float | complex | str | bytes | np.generic | np.ndarray | np.dtype
    return isinstance(value, plain | FunctionType | partial)


def _from_library(function: FunctionType) -> bool:
    """Whether a function came with a package or with Python: its name says what it does."""
    path = function.__code__.co_filename
    if function.__module__ is not None and function.__module__.split(".")[0] == "penstock":
        return True
    return "site-packages" in path or f"{os.sep}lib{os.sep}python" in path


def _cell(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _of_code(code: CodeType, depth: int) -> str:
    constants = tuple(constant for constant in code.co_consts if constant != code.co_name)
    consts = _of(constants, depth)
    return f"code({zlib.crc32(code.co_code):08x},{code.co_names},{code.co_varnames},{consts})"
