"""The line of the user's code that declared something."""

from __future__ import annotations

import functools
import os
import sys
from types import FrameType, TracebackType
from typing import Any

_INSIDE = "penstock"


def is_inside(frame: FrameType) -> bool:
    """Whether it is Penstock's own code."""
    name = str(frame.f_globals.get("__name__", ""))
    return name == _INSIDE or name.startswith(_INSIDE + ".") or name == "dataclasses"


def user_site() -> str:
    """The innermost line outside Penstock, as `file.py:12`."""
    frame: FrameType | None = sys._getframe(1)
    # The generated `__init__` of a dataclass runs under the module of its class.
    while frame is not None and (is_inside(frame) or frame.f_code.co_filename == "<string>"):
        frame = frame.f_back
    if frame is None:
        return "<unknown>"
    return f"{_short(frame.f_code.co_filename)}:{frame.f_lineno}"


def line_of(function: Any) -> str:
    """Where a function of Python begins, as `file.py:8`."""
    code = function.__code__
    return f"{_short(code.co_filename)}:{code.co_firstlineno}"


def failing_line(traceback: TracebackType | None) -> str:
    """The last line of the user's code in a traceback, as `file.py:8 in parse`; else that of a library."""
    found = library = ""
    while traceback is not None:
        frame = traceback.tb_frame
        if not is_inside(frame):
            code = frame.f_code
            line = f"{_short(code.co_filename)}:{traceback.tb_lineno} in {code.co_name}"
            if "site-packages" in code.co_filename or f"lib{os.sep}python" in code.co_filename:
                library = line
            else:
                found = line
        traceback = traceback.tb_next
    return found or library


def _short(path: str) -> str:
    try:
        return _seen_from(os.getcwd(), path)  # noqa: PTH109  (for each op that is declared)
    except OSError:  # the folder is gone
        return path


@functools.lru_cache(maxsize=256)
def _seen_from(folder: str, path: str) -> str:
    try:
        relative = os.path.relpath(path, folder)
    except ValueError:
        return path
    return path if relative.startswith("..") else relative
