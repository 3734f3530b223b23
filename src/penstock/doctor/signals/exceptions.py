"""Exceptions and tracebacks that are kept."""

from __future__ import annotations

from types import TracebackType


def kept(thing: object, where: str) -> str | None:
    """An exception, a traceback, or what `sys.exc_info()` gave."""
    del where
    if isinstance(thing, tuple) and len(thing) == 3:
        return "kept-exceptions" if isinstance(thing[2], TracebackType) else None
    if isinstance(thing, TracebackType):
        return "kept-exceptions"
    return "kept-exceptions" if isinstance(thing, BaseException) and thing.__traceback__ is not None else None
