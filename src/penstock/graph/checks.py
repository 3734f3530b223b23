"""Checks of users' arguments, made when an op is declared."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from penstock.errors import ArgumentError, ArgumentTypeError
from penstock.graph.running import Pipeline
from penstock.site import user_site

STATE_AND_ELEMENT = "the state and the element, whatever parts it has, as in `lambda state, x: ...`"
"""What a function takes that carries a state."""
SHOWN = 80
"""So many characters of a value are shown in a message."""


def count(
    value: Any, call: str, *, least: int | None = None, also: Mapping[int, str] | None = None, words: str = ""
) -> int:
    """A whole number, at least `least` or one of `also`, which has their names.

    `call` names the argument, as in `take(count=)`; `words` tell what else it may be.
    """
    names = list((also or {}).values())
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        said = [name for name in names if not name.lstrip("-").isdigit()]
        expected = (", " if words else " or ").join(["a whole number", *said])
        raise ArgumentTypeError(
            f"{call} at {user_site()}: expected {expected}{words}, got {shown(value)}."
        ) from None
    if least is not None and number < least and number not in (also or {}):
        expected = (", " if words else " or ").join([f"at least {least}", *names])
        raise ArgumentError(f"{call} at {user_site()}: expected {expected}{words}, got {number}.")
    return number


def function(value: Any, call: str, above: Any = None) -> Any:
    """Something that can be called; with `above`, with an element of that op."""
    if not callable(value):
        raise ArgumentTypeError(f"{call} at {user_site()}: expected a function, got {shown(value)}.")
    parts = None if above is None else _parts(above)
    if parts == 1:
        takes(value, call, 1, "the element, as in `lambda x: ...`")
    elif parts is not None:
        names = ", ".join(["x", "y", "z"][:parts]) if parts <= 3 else "*parts"
        takes(value, call, parts, f"the parts of the element, as in `lambda {names}: ...`")
    return value


def takes(value: Any, call: str, count: int, which: str) -> None:
    """Refuse a function of Python that cannot be called with so many arguments, `which` in words."""
    plain, given = value, count
    if isinstance(value, MethodType):
        plain, given = value.__func__, count + 1
    if not isinstance(plain, FunctionType) or _can_take(plain, given):
        return  # what others than Python's functions take cannot be told for sure
    many = f"{count} argument{'' if count == 1 else 's'}"
    raise ArgumentTypeError(
        f"{call} at {user_site()}: expected a function of {many}, {which}, "
        f"got {value.__name__}{inspect.signature(value, follow_wrapped=False)}."
    )


def _can_take(plain: FunctionType, count: int) -> bool:
    code = plain.__code__  # a signature says the same, and takes ten times as long
    if code.co_kwonlyargcount > len(plain.__kwdefaults__ or ()):
        return False
    least = code.co_argcount - len(plain.__defaults__ or ())
    return least <= count and (count <= code.co_argcount or bool(code.co_flags & inspect.CO_VARARGS))


def _parts(above: Any) -> int | None:
    """How many arguments an element of an op is; None where only a function that it calls could tell."""
    spec = None if _calls(above) else above.spec
    if spec is None:
        return None
    return len(spec.structure.children) if spec.structure.kind is tuple else 1


def _calls(op: Any) -> bool:
    own = bool(op.inputs) and any(callable(getattr(op, part.name)) for part in fields(op))
    return own or any(_calls(above) for above in op.inputs)


def shown(value: Any) -> str:
    """A value as messages show it: on one line, cut where it would fill the screen.

    >>> shown("AUTO"), len(shown([0] * 1000))
    ("'AUTO'", 80)
    """
    text = " ".join(repr(value).split())
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


def how_to_convert(value: Any) -> str:
    """How a dataset is made of what somebody else has made, with a space before it; nothing if nobody knows.

    >>> how_to_convert([1, 2])
    ' Make one of it: ps.Dataset.from_tensor_slices(...).'
    """
    library = type(value).__module__.partition(".")[0]
    if value is None:
        return " Is a `return` missing in the function that made it?"
    if library == "penstock":
        return " Give the dataset itself, as it was before it was iterated or handed to a framework."
    if library == "tensorflow" and hasattr(value, "element_spec"):
        return " Make one of it: ps.from_tensorflow(...)."
    if library == "ray" and hasattr(value, "iter_batches"):
        return " Make one of it: ps.from_ray(...)."
    if isinstance(value, Iterator):
        return " Make one of the function that gives it: ps.Dataset.from_generator(function)."
    if isinstance(value, np.ndarray | list | tuple | dict):
        return " Make one of it: ps.Dataset.from_tensor_slices(...)."
    if isinstance(value, str | bytes):
        return " If it is the name of a file, open that: ps.TFRecordDataset(name), ps.TextLineDataset(name)."
    if isinstance(value, Iterable):
        return " Make one of it: ps.Dataset.from_generator(lambda: ...)."
    return ""


def dataset(value: Any, call: str) -> None:
    """A dataset."""
    if not isinstance(value, Pipeline):
        raise ArgumentTypeError(
            f"{call} at {user_site()}: expected a dataset, got {shown(value)}.{how_to_convert(value)}"
        )


def name(value: Any, call: str) -> None:
    """What the user calls an op: a text, not empty; or None."""
    if value is not None and not (isinstance(value, str) and value):
        kind = ArgumentError if isinstance(value, str) else ArgumentTypeError
        raise kind(f"{call} at {user_site()}: expected a text that is not empty, got {value!r}.")


def parallelism(calls: Any, deterministic: Any, op: str) -> None:
    """What tf.data takes to run calls side by side; either may be None."""
    if calls is not None:
        count(calls, f"{op}(num_parallel_calls=)", least=1, also={-1: "ps.AUTOTUNE"})
    if deterministic is not None:
        flag(deterministic, f"{op}(deterministic=)")


def flag(value: Any, call: str) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise ArgumentTypeError(f"{call} at {user_site()}: expected True or False, got {value!r}.")
    return value


def one_of(value: Any, words: Sequence[str], call: str) -> str:
    """One of some words."""
    if not isinstance(value, str) or value not in words:
        shown = " or ".join(filter(None, [", ".join(map(repr, words[:-1])), repr(words[-1])]))
        kind = ArgumentError if isinstance(value, str) else ArgumentTypeError
        raise kind(f"{call} at {user_site()}: expected {shown}, got {value!r}.")
    return value


def seed(value: Any, call: str) -> int | None:
    """A seed, or None."""
    return None if value is None else count(value, call)
