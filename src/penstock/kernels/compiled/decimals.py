"""Decimal numerals to the nearest float64.

Up to 19 digits are one whole number w, and the numeral is w * 10**q. Where w and 10**q are floats, one
product or division rounds rightly. Otherwise w is multiplied with the first 128 bits of 5**q, which nearly
always settles every bit of the result (D. Lemire, "Number parsing at a gigabyte per second", 2021). What is
not settled, is not normal, or is no plain numeral is left to the caller.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

LEAST, MOST = -342, 308
"""The powers of ten beyond which numbers of 19 digits are zero or infinite."""
EXACT = 10.0 ** np.arange(23)
"""The powers of ten that a float64 holds."""
DIGITS = 19


def _first_bits(power: int) -> tuple[int, int]:
    """The first 128 bits of 5**power, in halves; of the reciprocals, rounded up."""
    if power >= 0:
        value = 5**power
    else:
        value = (1 << (2 * (5**-power).bit_length() + 128)) // 5**-power + 1
    shift = value.bit_length() - 128
    value = value >> shift if shift > 0 else value << -shift
    return value >> 64, value & (1 << 64) - 1


_BITS = np.array([_first_bits(power) for power in range(LEAST, MOST + 1)], np.uint64)
_HIGH, _LOW = np.ascontiguousarray(_BITS[:, 0]), np.ascontiguousarray(_BITS[:, 1])

_U = np.uint64
_ONE, _HALF, _LOWER = _U(1), _U(32), _U(0xFFFFFFFF)
_UNSETTLED = _U(0x1FF)
_ALL = _U(0xFFFFFFFFFFFFFFFF)


@njit(nogil=True, cache=True)
def _product(a: Any, b: Any) -> Any:
    """The 128 bits of a * b, in halves."""
    a1, a0, b1, b0 = a >> _HALF, a & _LOWER, b >> _HALF, b & _LOWER
    low = a0 * b0
    middle = a1 * b0 + (low >> _HALF)
    cross = a0 * b1 + (middle & _LOWER)
    high = a1 * b1 + (middle >> _HALF) + (cross >> _HALF)
    return high, cross << _HALF | low & _LOWER


@njit(nogil=True, cache=True)
def _nearest(whole: Any, power: Any) -> Any:
    """The float nearest to whole * 10**power, and whether it is settled; `whole` is not 0."""
    zeros = 0
    while whole >> _U(63) == _U(0):
        whole <<= _ONE
        zeros += 1
    high, low = _product(whole, _HIGH[power - LEAST])
    if high & _UNSETTLED == _UNSETTLED:
        more, _ = _product(whole, _LOW[power - LEAST])
        low += more
        if low < more:
            high += _ONE
        if low == _ALL:
            return False, 0.0
    upper = high >> _U(63)
    shift = upper + _U(9)
    mantissa = high >> shift
    exponent = ((217706 * power) >> 16) + 1086 + np.int64(upper) - zeros
    if exponent <= 0 or exponent >= 2046:
        return False, 0.0
    # Halfway between two floats, exactly: to the even one.
    if low <= _ONE and -4 <= power <= 23 and mantissa & _U(3) == _ONE and mantissa << shift == high:
        mantissa -= _ONE
    mantissa = (mantissa + (mantissa & _ONE)) >> _ONE
    return True, math.ldexp(np.float64(mantissa), exponent - 1075)


@njit(nogil=True, cache=True)
def decimal(data: Any, first: Any, stop: Any) -> Any:
    """Whether the bytes are a numeral that is settled here, and its float."""
    negative = first < stop and data[first] == 45
    if first < stop and (data[first] == 45 or data[first] == 43):
        first += 1
    whole = _U(0)
    digits = count = power = 0
    point = False
    i = first
    while i < stop:
        letter = data[i]
        if 48 <= letter <= 57:
            count += 1
            if digits or letter != 48:
                digits += 1
                if digits > DIGITS:
                    return False, 0.0
                whole = whole * _U(10) + _U(letter - 48)
            if point:
                power -= 1
        elif letter == 46 and not point:
            point = True
        else:
            break
        i += 1
    if count == 0:
        return False, 0.0
    if i < stop and (data[i] == 101 or data[i] == 69):
        i += 1
        down = i < stop and data[i] == 45
        if i < stop and (data[i] == 45 or data[i] == 43):
            i += 1
        begin = i
        exponent = 0
        while i < stop and i - begin < 5 and 48 <= data[i] <= 57:
            exponent = exponent * 10 + (data[i] - 48)
            i += 1
        if i == begin:
            return False, 0.0
        power += -exponent if down else exponent
    if i != stop:
        return False, 0.0
    sound, value = True, 0.0
    if whole != _U(0):
        if whole < _U(1 << 53) and -22 <= power <= 22:
            value = np.float64(whole)
            value = value / EXACT[-power] if power < 0 else value * EXACT[power]
        elif LEAST <= power <= MOST:
            sound, value = _nearest(whole, power)
        else:
            sound = False
    return sound, -value if negative else value
