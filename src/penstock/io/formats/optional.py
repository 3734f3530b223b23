"""Libraries that only some formats need: loaded when a run first needs them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from penstock.errors import PenstockError


def optional(module: str, extra: str) -> Any:
    """The module of that name; an error that says what to install if it is not there."""
    try:
        return import_module(module)
    except ImportError as error:
        library = module.split(".")[0]
        raise PenstockError(
            f"This needs the library {library}, which cannot be loaded ({error}). Install it: "
            f"pip install {library}, or pip install '.[{extra}]' in Penstock's clone."
        ) from error
