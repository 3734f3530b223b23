"""Functions whose `return` was forgotten."""

from __future__ import annotations

import dis
import inspect
from types import FunctionType, MethodType
from typing import Any

RETURN = dis.opmap["RETURN_VALUE"]
RETURN_CONST = dis.opmap.get("RETURN_CONST", -1)
LOAD_CONST = dis.opmap["LOAD_CONST"]
ENDS = frozenset({"_exit", "abort", "exit", "kill", "raise_signal", "sleep"})
"""A function that names one of these may be meant not to return: to see what becomes of it, say."""
MADE_BY_CALLS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def returns_nothing(function: Any) -> bool:
    """Whether a function was written with `def`, and nothing but None ever comes of it.

    >>> def shown(x):
    ...     print(x)
    >>> returns_nothing(shown)
    True
    """
    plain = function.__func__ if isinstance(function, MethodType) else function
    if not isinstance(plain, FunctionType) or plain.__name__ == "<lambda>":
        return False
    code = plain.__code__
    if code.co_flags & MADE_BY_CALLS or ENDS.intersection(code.co_names):
        return False
    # Not by instructions, of which `dis` makes an object each: maps may be declared for every element.
    raw = code.co_code
    returns = [at for at in range(0, len(raw), 2) if raw[at] in (RETURN, RETURN_CONST)]
    for at in returns:
        loads = at if raw[at] == RETURN_CONST else at - 2
        if loads < 0 or (loads != at and raw[loads] != LOAD_CONST):
            return False
        if loads and raw[loads - 2] == dis.EXTENDED_ARG:
            return False
        if code.co_consts[raw[loads + 1]] is not None:
            return False
    # What is jumped to may return what was loaded elsewhere.
    jumps: list[int] = dis.findlabels(raw)  # type: ignore[arg-type]
    return bool(returns) and not set(returns).intersection(jumps)
