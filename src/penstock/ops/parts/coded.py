"""Numbers in a state, as short text."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray


def coded(numbers: NDArray[np.int64]) -> str:
    """Whole numbers as text, short where they are near one another."""
    steps = np.diff(numbers, prepend=0).astype("<i8")
    # All first bytes, then all second ones: the higher of them are mostly alike.
    spread = steps.view(np.uint8).reshape(-1, 8).T
    return base64.b64encode(zlib.compress(spread.tobytes(), 6)).decode()


def decoded(text: str) -> NDArray[np.int64]:
    """The numbers of such a text."""
    spread = np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8).reshape(8, -1)
    steps = np.ascontiguousarray(spread.T).view("<i8").ravel()
    return np.cumsum(steps, dtype=np.int64)


def saved_leaf(leaf: Any) -> Any:
    """A leaf of a user's value as plain data; None if it has none."""
    if isinstance(leaf, np.generic | np.ndarray) and not leaf.dtype.hasobject:
        data = base64.b64encode(np.ascontiguousarray(leaf).tobytes()).decode()
        kind = "array" if isinstance(leaf, np.ndarray) else "number"
        return [kind, leaf.dtype.str, list(leaf.shape), data]
    if isinstance(leaf, bytes):
        return ["bytes", base64.b64encode(leaf).decode()]
    return ["text", leaf] if isinstance(leaf, str) else None


def loaded_leaf(saved: Any) -> Any:
    """The leaf that was saved so."""
    kind, *rest = saved
    if kind == "text":
        return rest[0]
    data = base64.b64decode(rest[-1])
    if kind == "bytes":
        return data
    array = np.frombuffer(data, rest[0]).reshape(rest[1]).copy()
    return array if kind == "array" else array[()]
