"""Checks of users' arguments, made when an op is declared."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.errors import ArgumentError, ArgumentTypeError
from penstock.graph.running import Pipeline
from penstock.graph.site import user_site


def count(
    value: Any, call: str, *, least: int | None = None, also: Mapping[int, str] | None = None, words: str = ""
) -> int:
    """A whole number, at least `least` or one of `also`, which has their names.

    `call` names the argument, as in `take(count=)`; `words` tell what else it may be.
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise ArgumentTypeError(
            f"{call} at {user_site()}: expected a whole number{words}, got {value!r}."
        ) from None
    names = (also or {}).values()
    if least is not None and number < least and number not in (also or {}):
        expected = (", " if words else " or ").join([f"at least {least}", *names])
        raise ArgumentError(f"{call} at {user_site()}: expected {expected}{words}, got {number}.")
    return number


def function(value: Any, call: str) -> Any:
    """Something that can be called."""
    if not callable(value):
        raise ArgumentTypeError(f"{call} at {user_site()}: expected a function, got {value!r}.")
    return value


def dataset(value: Any, call: str) -> None:
    """A dataset."""
    if not isinstance(value, Pipeline):
        raise ArgumentTypeError(f"{call} at {user_site()}: expected a dataset, got {value!r}.")


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
        shown = ", ".join(map(repr, words[:-1])) + f" or {words[-1]!r}"
        kind = ArgumentError if isinstance(value, str) else ArgumentTypeError
        raise kind(f"{call} at {user_site()}: expected {shown}, got {value!r}.")
    return value


def seed(value: Any, call: str) -> int | None:
    """A seed, or None."""
    return None if value is None else count(value, call)
