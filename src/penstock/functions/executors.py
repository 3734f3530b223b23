"""The ways to run a user's function, by the names that users say."""

from __future__ import annotations

from typing import Any

from penstock.errors import ArgumentError, ArgumentTypeError
from penstock.site import user_site

EXECUTORS = {
    "auto": "over the block where that gives the same, otherwise as measured",
    "block": "once for all rows of a block",
    "threads": "row by row, on threads of this process",
    "processes": "row by row, in worker processes",
    "jit": "compiled by Numba, without the GIL",
}
"""What each of them does, in words."""


def check_executor(value: Any, call: str) -> None:
    """Refuse what is none of them; `call` names the argument, as in `map(executor=)`."""
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{call} at {user_site()}: expected a text, got {value!r}.")
    if value not in EXECUTORS:
        names = ", ".join(repr(name) for name in EXECUTORS)
        raise ArgumentError(f"{call} at {user_site()}: expected one of {names}, got {value!r}.")
