"""The dtypes of `ml_dtypes`: bfloat16, float8 and other narrow numbers."""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any

import numpy as np

from penstock.errors import PenstockError

LIBRARY = "ml_dtypes"
BEGINNINGS = ("bfloat16", "float8_", "float6_", "float4_", "int2", "int4", "uint2", "uint4", "int1", "uint1")
"""How their names begin, and those of none of NumPy's own but for int16 and uint16."""


@functools.cache
def is_extended(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype is one of them. NumPy itself calls most of them bytes without a meaning."""
    return dtype.type.__module__.split(".")[0] == LIBRARY


def extended(name: str) -> np.dtype[Any]:
    """The dtype of that name; ValueError if there is none."""
    try:
        library = import_module(LIBRARY)
    except ImportError as error:
        raise PenstockError(
            f"The dtype {name} needs the library {LIBRARY}, which cannot be loaded ({error}). Install it: "
            f"pip install {LIBRARY}."
        ) from error
    kind = getattr(library, name, None)
    if not isinstance(kind, type) or not issubclass(kind, np.generic):
        raise ValueError(f"{name!r} is no dtype of {LIBRARY}")
    return np.dtype(kind)


def looks_extended(name: Any) -> bool:
    """Whether a name is like one of theirs."""
    return isinstance(name, str) and name.startswith(BEGINNINGS) and name not in ("int16", "uint16")
