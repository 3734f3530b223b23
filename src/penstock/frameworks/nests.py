"""The nest of an element, leaf by leaf."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def with_leaves(element: Any, leaf: Callable[[NDArray[Any]], Any]) -> Any:
    """The same nest with what `leaf` makes of arrays and numbers; anything else stays as it is."""
    if isinstance(element, np.ndarray):
        return leaf(element)
    if isinstance(element, tuple):
        parts = [with_leaves(part, leaf) for part in element]
        return type(element)(*parts) if hasattr(element, "_fields") else tuple(parts)
    if isinstance(element, dict):
        return {key: with_leaves(part, leaf) for key, part in element.items()}
    if isinstance(element, np.generic) and not isinstance(element, np.bytes_ | np.str_):
        return leaf(np.asarray(element))
    return element


def arrays_of(element: Any) -> list[NDArray[Any]]:
    """The arrays of numbers in an element."""
    found: list[NDArray[Any]] = []
    with_leaves(element, lambda array: found.append(array) if array.dtype.char not in "OSU" else None)
    return found
