"""NumPy's warnings of a call over a block, as those of a call with one row: at the user's line."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

import numpy as np

from penstock.site import is_inside


class _Warns:
    """What NumPy tells of an error, in place of a warning of its own."""

    def __init__(self, function: Callable[..., Any], caller: CodeType) -> None:
        self._function = function
        self._caller = caller

    def __call__(self, what: str, _: int) -> None:
        frame: FrameType | None = sys._getframe(1)
        name = ""
        while frame is not None and frame.f_code is not self._caller and _is_library(frame):
            name = name or getattr(frame.f_locals.get("ufunc"), "__name__", "")
            frame = frame.f_back
        text = f"{what} encountered in {name}" if name else f"{what} encountered"
        code: CodeType | None = getattr(self._function, "__code__", None)
        if frame is not None and frame.f_code is not self._caller:
            file, line, scope = frame.f_code.co_filename, frame.f_lineno, frame.f_globals
        elif code is not None:
            file, line, scope = code.co_filename, code.co_firstlineno, self._function.__globals__
        else:
            warnings.warn(text, RuntimeWarning, stacklevel=2)
            return
        registry = scope.setdefault("__warningregistry__", {})  # where a call with one row is noted as well
        warnings.warn_explicit(text, RuntimeWarning, file, line, scope.get("__name__"), registry)


def _is_library(frame: FrameType) -> bool:
    return is_inside(frame) or str(frame.f_globals.get("__name__", "")).startswith("numpy.")


@contextmanager
def warned_inside(function: Callable[..., Any], caller: CodeType) -> Iterator[None]:
    """Within it, NumPy warns at the line of the user's code that `caller` has called.

    What is computed later, when that is over, is said of the head of `function`.
    """
    said = np.geterr()
    kinds: dict[str, Any] = {kind: "call" for kind, how in said.items() if how == "warn"}
    if "call" in said.values():  # the user has a way of their own
        kinds = {}
    with np.errstate(call=_Warns(function, caller), **kinds) if kinds else np.errstate():
        yield


def reports_errors() -> bool:
    """Whether a floating-point error does more than warn here: it raises, or is told to someone."""
    more = set(np.geterr().values()) - {"ignore", "warn"}
    return bool(more) and not (more == {"call"} and isinstance(np.geterrcall(), _Warns))
