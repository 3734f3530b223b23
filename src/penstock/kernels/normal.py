"""Normal numbers out of random bits, in operations that every machine rounds alike.

NumPy's `log` and `cos` differ in the last bit between processors, and between one number and many.
So this inverts the distribution with additions, multiplications, divisions and square roots alone
(Wichura's algorithm AS 241, and a logarithm by its series).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_CENTRE = (
    (2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457),
    (13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608),
    (5226.495278852854561, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867),
    (5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1.0),
)
_MIDDLE = (
    (7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177),
    (1.27045825245236838258, 3.64784832476320460504, 5.7694972214606914055),
    (4.6303378461565452959, 1.42343711074968357734),
    (1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966),
    (0.14810397642748007459, 0.68976733498510000455, 1.6763848301838038494),
    (2.05319162663775882187, 1.0),
)
_TAIL = (
    (2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386),
    (0.026532189526576123093, 0.29656057182850489123, 1.7848265399172913358),
    (5.4637849111641143699, 6.6579046435011037772),
    (2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5),
    (7.868691311456132591e-4, 0.0148753612908506148525, 0.13692988092273580531),
    (0.59983220655588793769, 1.0),
)
_LN2 = 0.6931471805599453


def normal_of(random: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Standard normal numbers, one for every 64 random bits."""
    # The middle of one of 2**52 equal parts of the unit interval: never 0, never 1.
    p = ((random >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
    q = p - 0.5
    flat = q.ravel()
    out = np.empty_like(flat)
    centre = np.abs(flat) <= 0.425
    inner = flat[centre]
    r = 0.180625 - inner * inner
    top, bottom = _halves(_CENTRE)
    out[centre] = inner * _polynomial(top, r) / _polynomial(bottom, r)
    outer = flat[~centre]
    tail = np.minimum(p.ravel()[~centre], 1.0 - p.ravel()[~centre])
    r = np.sqrt(-_log(tail))
    near = r <= 5.0
    value = np.where(near, _ratio(_MIDDLE, r - 1.6), _ratio(_TAIL, r - 5.0))
    out[~centre] = np.where(outer < 0, -value, value)
    return out.reshape(random.shape)


def _halves(table: tuple[tuple[float, ...], ...]) -> tuple[list[float], list[float]]:
    half = len(table) // 2
    return (
        [number for row in table[:half] for number in row],
        [number for row in table[half:] for number in row],
    )


def _ratio(table: tuple[tuple[float, ...], ...], x: NDArray[np.float64]) -> NDArray[np.float64]:
    top, bottom = _halves(table)
    return _polynomial(top, x) / _polynomial(bottom, x)


def _polynomial(factors: list[float], x: NDArray[np.float64]) -> NDArray[np.float64]:
    total = np.full_like(x, factors[0])
    for factor in factors[1:]:
        total = total * x + factor
    return total


def _log(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The logarithm, by the series of the inverse hyperbolic tangent."""
    fraction, exponent = np.frexp(x)
    low = fraction < 0.7071067811865476
    fraction = np.where(low, fraction * 2.0, fraction)
    exponent = np.where(low, exponent - 1, exponent)
    s = (fraction - 1.0) / (fraction + 1.0)
    return exponent * _LN2 + 2.0 * s * _polynomial([1.0 / n for n in range(21, 0, -2)], s * s)
