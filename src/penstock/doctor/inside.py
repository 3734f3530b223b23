"""What is inside of an object, by the names that it has there."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import lru_cache, partial
from gc import get_referents, is_tracked
from itertools import islice
from types import FunctionType, ModuleType
from typing import Any, cast

FEW = 40
"""Of a container with more than so many members, the first and the last few are looked at."""
ENDS = 3
ATTRIBUTES = 200
"""So many attributes of one object are looked at."""
TABLES = ("_modules", "_parameters", "_buffers")
"""Where a module of torch has its attributes."""


def of_dict(thing: dict[Any, Any]) -> Iterator[tuple[str, object]]:
    """Values, by their keys."""
    if len(thing) <= FEW:
        for key, value in list(thing.items()):
            yield f"[{_short(key)}]", value
    else:
        for key in [*islice(thing, ENDS)]:
            yield f"[{_short(key)}]", thing[key]
        for key in [*islice(reversed(thing), ENDS)]:
            yield "[...]", thing[key]


def of_sequence(thing: list[Any] | tuple[Any, ...] | deque[Any]) -> Iterator[tuple[str, object]]:
    """Members, by their places."""
    size = len(thing)
    if size <= FEW:
        yield from ((f"[{i}]", one) for i, one in enumerate(tuple(thing)))
    else:
        yield from ((f"[{i}]", thing[i]) for i in range(ENDS))
        yield from ((f"[-{i}]", thing[-i]) for i in range(1, ENDS + 1))


def of_function(thing: FunctionType) -> Iterator[tuple[str, object]]:
    """What a function closes over, its defaults and its attributes."""
    for name, cell in zip(thing.__code__.co_freevars, thing.__closure__ or (), strict=False):
        try:
            yield f"<{name}>", cell.cell_contents
        except ValueError:
            continue
    names = thing.__code__.co_varnames[: thing.__code__.co_argcount]
    defaults = thing.__defaults__ or ()
    for name, value in zip(names[len(names) - len(defaults) :], defaults, strict=False):
        yield f"({name}=)", value
    for name, value in (thing.__kwdefaults__ or {}).items():
        yield f"({name}=)", value
    for name, value in thing.__dict__.items():
        yield f".{name}", value


def of_attributes(thing: object) -> Iterator[tuple[str, object]]:
    """Attributes and slots; of an object without any, what it refers to."""
    inside = inside_of(thing)
    if isinstance(inside, dict):
        for table in tables_of(thing)[1:]:
            yield from ((f".{name}", value) for name, value in list(islice(table.items(), ATTRIBUTES)))
        yield from ((f".{name}", value) for name, value in list(islice(inside.items(), ATTRIBUTES)))
    gradient = _gradient(thing)
    if gradient is not None:
        yield ".grad", gradient
    slots = _slots(cast(Any, type(thing)))
    for name in slots:
        yield f".{name}", getattr(thing, name, None)
    if not inside and not slots and not isinstance(thing, dict) and is_tracked(thing):
        found = (one for one in get_referents(thing) if not isinstance(one, type | ModuleType))
        yield from (("", one) for one in islice(found, ATTRIBUTES))


def _gradient(thing: object) -> object | None:
    """The gradient of a tensor, if it has a history of its own."""
    if not type(thing).__module__.startswith("torch") or not getattr(thing, "is_leaf", False):
        return None
    found = getattr(thing, "grad", None)
    return found if getattr(found, "grad_fn", None) is not None else None


def inside_of(thing: object) -> Any:
    """The attributes of an object. A `partial` has none before it is asked, and others are not merged into it
    from then on."""
    return None if isinstance(thing, partial) else getattr(thing, "__dict__", None)


def tables_of(thing: object) -> list[dict[Any, Any]]:
    """The dicts that have what is inside of a thing by name; a module of torch has some of its own."""
    if isinstance(thing, dict):
        return [thing]
    inside = inside_of(thing)
    if not isinstance(inside, dict):
        return []
    own = [inside.get(name) for name in TABLES] if TABLES[0] in inside else []
    return [inside, *(table for table in own if isinstance(table, dict))]


@lru_cache(maxsize=500)
def _slots(kind: Any) -> list[str]:
    found: list[str] = []
    for one in kind.__mro__:
        names = one.__dict__.get("__slots__", ())
        found.extend([names] if isinstance(names, str) else names)
    return [name for name in found if not name.startswith("__")]


def _short(key: object) -> str:
    text = repr(key) if type(key) in (str, int, float, bool, bytes, tuple) else type(key).__name__
    return text if len(text) <= 30 else text[:27] + "..."
