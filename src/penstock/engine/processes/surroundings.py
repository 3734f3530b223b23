"""What a function finds around it besides its module: the same in a worker as where it is from."""

from __future__ import annotations

import os
import re
import sys
import warnings
from contextlib import suppress
from typing import Any

import numpy as np


def surroundings() -> dict[str, Any]:
    """What a function finds around it here, and is to find in a worker."""
    folder = ""
    with suppress(OSError):  # it has been deleted
        folder = os.getcwd()  # noqa: PTH109  (workers start without pathlib)
    return {
        "path": [
            folder for folder in sys.path if isinstance(folder, str)
        ],  # others are passed over here, too
        "argv": list(getattr(sys, "argv", ())),  # a program that embeds Python may set none
        "environ": dict(os.environ),
        "folder": folder,
        # What is to be called stays here.
        "errors": {kind: "warn" if how in ("call", "log") else how for kind, how in np.geterr().items()},
        "recursion": sys.getrecursionlimit(),
        "warnings": list(filter(_is_pythons, warnings.filters)),
    }


def surround(around: dict[str, Any]) -> None:
    """Have it so in this process. What is there already is left alone: forked processes share its pages."""
    sys.path[:], sys.argv = around["path"], around["argv"]
    for name in os.environ.keys() - around["environ"].keys():
        del os.environ[name]
    for name, value in around["environ"].items():
        if os.environ.get(name) != value:
            os.environ[name] = value
    with suppress(OSError):
        os.chdir(around["folder"])
    if sys.getrecursionlimit() != around["recursion"]:
        sys.setrecursionlimit(around["recursion"])


def warn_like(filters: list[Any]) -> None:
    """Have these filters of Python's own warnings, beside those that modules have set for theirs."""
    if list(filter(_is_pythons, warnings.filters)) != filters:
        theirs = [one for one in warnings.filters if not _is_pythons(one)]
        warnings.resetwarnings()
        for action, message, category, module, line in [*theirs, *filters]:
            patterns = {"message": _pattern(message), "module": _pattern(module)}
            warnings.filterwarnings(action, category=category, lineno=line, append=True, **patterns)


def _pattern(said: Any) -> str:
    """What a filter goes by, as it is said. Python's own filters have names, and others compiled patterns."""
    if said is None:
        return ""
    return f"{re.escape(said)}\\Z" if isinstance(said, str) else str(said.pattern)


def _is_pythons(warned: Any) -> bool:
    """Whether a filter is for a kind of warning that every process has."""
    return getattr(warned[2], "__module__", "") == "builtins"
