"""How long a thing is, and how many bytes it has, without asking it to do anything."""

from __future__ import annotations

import sys
from array import array
from collections import deque
from functools import _lru_cache_wrapper
from gc import get_referents, is_tracked
from io import BytesIO, StringIO
from itertools import islice
from mmap import mmap
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any

from penstock.doctor.inside import inside_of
from penstock.doctor.walk import TEXT

CONTAINERS = (list, dict, set, frozenset, deque, tuple)
"""A tuple too: it is replaced by a longer one."""
SCALARS = (int, float, bool, complex, type(None))
ELSEWHERE = (type, ModuleType, CodeType, FrameType, dict)
VIEW = 100
"""About the bytes of an array without those of its items."""
DEEP = 4
SAMPLED, ATTRIBUTES = 8, 64
"""So many members are looked at, and so many attributes: those are unlike one another."""
ARROW = "BufferOutputStream"
MANY = 40
"""An object with more attributes than that is a container of them."""


def length_of(thing: object) -> int | None:
    """How many things a container keeps, if it is one that can grow."""
    if isinstance(thing, CONTAINERS):
        return len(thing)
    if isinstance(thing, _lru_cache_wrapper):
        return int(thing.cache_info().currsize)
    named = many_attributes(thing)
    return None if named is None else len(named)


def first_inside(thing: object) -> object | None:
    """Of many containers that are kept in one, the first: they may become longer, and it does not."""
    found = _containers(thing)
    return found[0] if found else None


def inner_length(thing: object) -> float | None:
    """About how many members those have in all."""
    found = _containers(thing)
    return len(thing) * sum(map(len, found)) / len(found) if found else None  # type: ignore[arg-type]


def _containers(thing: object) -> list[Any]:
    """Some of the containers in a large one that has nothing else."""
    if not isinstance(thing, list | dict) or len(thing) <= MANY:
        return []
    inside = thing.values() if isinstance(thing, dict) else thing
    found = list(islice(inside, SAMPLED))
    return found if all(isinstance(one, list | dict | set | deque) for one in found) else []


def many_attributes(thing: object) -> dict[str, Any] | None:
    """The attributes of an object that has many: it is a container, which `setattr` makes longer."""
    inside = inside_of(thing)
    if type(inside) is not dict or len(inside) <= MANY or isinstance(thing, ELSEWHERE):
        return None
    return inside


def bounded(thing: object) -> bool:
    """Whether a container cannot grow for ever: it fills, and then drops what is old."""
    if isinstance(thing, deque):
        return thing.maxlen is not None
    if isinstance(thing, _lru_cache_wrapper):
        return thing.cache_info().maxsize is not None
    return False


def buffer_of(thing: object) -> int | None:
    """The bytes of a text or an array, if it is one that can be made longer."""
    if isinstance(thing, TEXT):
        return len(thing)
    if isinstance(thing, array):
        return len(thing) * thing.itemsize
    if isinstance(thing, BytesIO):
        return 0 if thing.closed else thing.getbuffer().nbytes
    if isinstance(thing, StringIO):
        return 0 if thing.closed else thing.tell()
    if type(thing).__name__ == ARROW:
        return _written(thing)
    return array_bytes(thing)


def _written(thing: Any) -> int | None:
    """The bytes in a stream of Arrow's that writes to memory."""
    ours = type(thing).__module__.partition(".")[0] == "pyarrow"
    return (0 if thing.closed else int(thing.tell())) if ours else None


def array_bytes(thing: object) -> int | None:
    """The bytes of an array, a tensor, a table or a map; None for anything else."""
    root = type(thing).__module__.partition(".")[0]
    try:
        if root == "mmap":
            return len(thing) if isinstance(thing, mmap) and not thing.closed else None
        if root == "numpy":
            if not hasattr(thing, "nbytes"):
                return None
            base = getattr(thing, "base", None)
            owner = base if base is not None and type(base) is type(thing) else thing
            return int(owner.nbytes)
        if root == "torch":
            storage = getattr(thing, "untyped_storage", None)
            return int(storage().nbytes()) if storage is not None and not isinstance(thing, type) else None
        if root in ("tensorflow", "jaxlib", "jax") and type(thing).__name__ != "SymbolicTensor":
            return _by_shape(thing)
        if root == "pandas":
            return int(thing.memory_usage(index=False).sum())  # type: ignore[attr-defined]
        if root == "pyarrow":
            return None if isinstance(thing, type) else int(thing.nbytes)  # type: ignore[attr-defined]
    except Exception:
        return None
    return None


def owner_of(thing: object) -> object | None:
    """What a NumPy array is a view of."""
    return getattr(thing, "base", None) if type(thing).__module__ == "numpy" else None


def _by_shape(thing: Any) -> int | None:
    shape, dtype = getattr(thing, "shape", None), getattr(thing, "dtype", None)
    if shape is None or dtype is None or isinstance(thing, type):
        return None
    count = 1
    for side in tuple(shape):
        count *= int(side)
    size = getattr(dtype, "size", None)
    return count * int(size if isinstance(size, int) else getattr(dtype, "itemsize", 4))


def deep_bytes(thing: object, depth: int = DEEP, seen: set[int] | None = None) -> int:
    """About how many bytes go when `thing` goes: itself and what it refers to, a few levels down."""
    seen = set() if seen is None else seen
    if id(thing) in seen or isinstance(thing, type) or (depth < DEEP and isinstance(thing, ModuleType)):
        return 0
    seen.add(id(thing))
    owner = owner_of(thing)
    if owner is not None:
        if id(owner) in seen:
            return VIEW
        seen.add(id(owner))
    held = array_bytes(thing)
    try:
        size = sys.getsizeof(thing) if held is None else VIEW + held
    except Exception:
        size = 64
    if depth == 0 or held is not None or isinstance(thing, TEXT):
        return size
    members: list[Any] = []
    count = 0
    if isinstance(thing, dict):
        count = len(thing)
        members = [value for _, value in zip(range(SAMPLED), thing.values(), strict=False)]
    elif isinstance(thing, list | tuple | set | frozenset | deque):
        count = len(thing)
        members = [value for _, value in zip(range(SAMPLED), thing, strict=False)]
    elif isinstance(thing, FunctionType):
        members = [*(thing.__closure__ or ()), *(thing.__defaults__ or ())][:SAMPLED]
        count = len(members)
    elif isinstance(thing, MethodType):
        members = [thing.__self__]
        count = 1
    else:
        inside = inside_of(thing)
        if isinstance(inside, dict) and inside:
            count, members = len(inside), list(inside.values())[:ATTRIBUTES]
            size += sys.getsizeof(inside)
        elif is_tracked(thing):  # a generator, a task, a cell: what it refers to, but not where it was made
            members = [one for one in get_referents(thing) if not isinstance(one, ELSEWHERE)][:SAMPLED]
            count = len(members)
    inner = sum(deep_bytes(one, depth - 1, seen) for one in members)
    return size + (inner * count // len(members) if members else 0)
