"""Floats: `uniform` and `normal`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.trace import trusted
from penstock.errors import ArgumentError, ArgumentTypeError
from penstock.kernels.normal import normal_of
from penstock.random.discrete import integers
from penstock.random.draws import Draw, Shape


@trusted
def uniform(
    shape: Shape = (),
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = np.float32,
    seed: int | None = None,
) -> Any:
    """Numbers from `minval` up to, but not, `maxval`, each as likely; `maxval` is 1 for floats.

    With an integer dtype, whole numbers; then `maxval` must be given.

    >>> import penstock as ps
    >>> ds = ps.Dataset.range(3).map(lambda x: ps.random.uniform((2,)))
    >>> [x.shape for x in ds]
    [(2,), (2,), (2,)]
    """
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        if maxval is None:
            raise ArgumentError("ps.random.uniform(maxval=): expected a number with an integer dtype.")
        return integers(minval, maxval, shape, dtype, seed)
    what = "ps.random.uniform"
    draw = Draw(shape, seed, what)
    unit = draw.finish(_unit(draw.bits, _float(dtype, what)))
    if maxval is None and isinstance(minval, int) and minval == 0:
        return unit
    high = 1 if maxval is None else maxval
    low, high = (_as(bound, dtype) for bound in (minval, high))
    # Rounding may reach the upper bound, which is not meant to come out.
    spread = unit * (high - low) + low
    return np.where(spread < high, spread, np.nextafter(high, low))[()]


def _as(bound: Any, dtype: np.dtype[Any]) -> Any:
    return bound.astype(dtype) if hasattr(bound, "astype") else dtype.type(bound)


def _float(dtype: np.dtype[Any], what: str) -> np.dtype[Any]:
    if dtype.char not in "efd":
        raise ArgumentTypeError(f"{what}(dtype=): expected float16, float32 or float64, got {dtype}.")
    return dtype


def _unit(random: NDArray[np.uint64], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Floats from 0 up to, but not, 1, with as many random bits as the dtype holds."""
    digits = np.finfo(dtype).nmant + 1
    unit: NDArray[Any] = (random >> np.uint64(64 - digits)).astype(dtype)
    unit *= dtype.type(2.0**-digits)
    return unit


@trusted
def normal(
    shape: Shape = (),
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = np.float32,
    seed: int | None = None,
) -> Any:
    """Numbers of a normal distribution.

    >>> import penstock as ps
    >>> ds = ps.Dataset.range(3).map(lambda x: x + ps.random.normal(stddev=0.1))
    >>> len(list(ds))
    3
    """
    what = "ps.random.normal"
    draw = Draw(shape, seed, what)
    kind = _float(np.dtype(dtype), what)
    standard = draw.finish(normal_of(draw.bits).astype(kind))
    return standard * _as(stddev, kind) + _as(mean, kind)
