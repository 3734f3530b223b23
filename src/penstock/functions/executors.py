"""The ways to run a user's function, by the names that users say."""

from __future__ import annotations

from difflib import get_close_matches
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
    if isinstance(value, str) and value in EXECUTORS:
        return
    names = ", ".join(repr(name) for name in EXECUTORS)
    near = get_close_matches(value.lower(), EXECUTORS, 1) if isinstance(value, str) else []
    hint = f" Did you mean {near[0]!r}?" if near else ""
    kind = ArgumentError if isinstance(value, str) else ArgumentTypeError
    raise kind(f"{call} at {user_site()}: expected one of {names}, got {value!r}.{hint}")
