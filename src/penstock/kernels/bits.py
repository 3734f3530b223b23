"""Counter-based random bits: a pure function of a key and a counter, the same in any order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_MASK = (1 << 64) - 1
_STEP = 0x9E3779B97F4A7C15
_ONE = 0xBF58476D1CE4E5B9
_TWO = 0x94D049BB133111EB


def mix(*parts: int) -> int:
    """One key of 64 bits out of several whole numbers."""
    key = 0x243F6A8885A308D3
    for part in parts:
        key = _finish((key ^ (part & _MASK)) + _STEP & _MASK)
        key = _finish(key + (part >> 64 & _MASK) & _MASK)
    return key


def _finish(z: int) -> int:
    z = (z ^ z >> 30) * _ONE & _MASK
    z = (z ^ z >> 27) * _TWO & _MASK
    return z ^ z >> 31


def bits(key: int, counters: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """64 random bits for every counter."""
    z = counters * np.uint64(_STEP)
    z += np.uint64(key)
    _finish_all(z)
    z += np.uint64(mix(key))
    _finish_all(z)
    return z


def _finish_all(z: NDArray[np.uint64]) -> None:
    shifted = z >> np.uint64(30)
    z ^= shifted
    z *= np.uint64(_ONE)
    np.right_shift(z, np.uint64(27), out=shifted)
    z ^= shifted
    z *= np.uint64(_TWO)
    np.right_shift(z, np.uint64(31), out=shifted)
    z ^= shifted


def counters(start: int, count: int) -> NDArray[np.uint64]:
    """The counters from `start` on."""
    return np.arange(start, start + count, dtype=np.uint64)


def below(random: NDArray[np.uint64], bound: int) -> NDArray[np.int64]:
    """Whole numbers from 0 up to `bound`, even to within bound / 2**64."""
    if bound < 1 << 32:
        high = (random >> np.uint64(32)) * np.uint64(bound)
        low = (random & np.uint64(0xFFFFFFFF)) * np.uint64(bound)
        return ((high + (low >> np.uint64(32))) >> np.uint64(32)).astype(np.int64)
    return (random % np.uint64(bound)).astype(np.int64)


def unit(random: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Floats from 0 up to, but not, 1."""
    return (random >> np.uint64(11)).astype(np.float64) * 2.0**-53


def bits_of_rows(keys: NDArray[np.uint64], count: int) -> NDArray[np.uint64]:
    """`count` times 64 random bits for every key: an array of shape (keys, count)."""
    z = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(_STEP) + keys[:, None]
    _finish_all(z)
    z += (keys * np.uint64(_TWO))[:, None]
    _finish_all(z)
    return z
