"""Is it a leak: growth that goes on, told from warm-up, plateaus, sawtooth and noise.

The method is written down in `docs/doctor.md`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

WARM_UP = 0.2
"""The first part of the watch that is left out of every test."""
EARLY = 0.4
"""Of a short run with few moments after that, this part of the moments is left out instead."""
BINS = 40
FEWEST = 8
"""With fewer moments after the warm-up nothing is said."""
WINDOWS = 4
EVEN = 0.2
"""Every window adds at least this part of what it would if all added alike; one with few steps adds less."""
FALLEN = 0.4
"""What may be given back of what was gained; a buffer that is emptied gives back all."""
SLOWED = 0.35
"""A growth whose second half has less than this part of the slope of its first half is filling up."""
NOISE = 3.0


@dataclass(frozen=True)
class Growth:
    """A growth that goes on: a slope by step, or by second, with its 95% interval."""

    slope: float
    low: float
    high: float
    gained: float
    """What came on top from the first window after the warm-up to the last."""


@dataclass(frozen=True)
class Judged:
    """What the test says of one series: a growth, or why there is none."""

    growth: Growth | None
    reason: str


def judge(xs: Sequence[float], ys: Sequence[float], least: float) -> Judged:
    """Whether a series grows and goes on growing; `least` is what it must gain to matter.

    >>> steps = list(range(100))
    >>> round(judge(steps, [7.0 * x for x in steps], least=10).growth.slope, 3)
    7.0
    >>> judge(steps, [min(x, 85) for x in steps], least=10).growth is None  # it fills, and is full
    True
    >>> judge(steps, [x % 20 for x in steps], least=5).reason
    'flat'
    """
    if not xs or xs[-1] <= xs[0]:
        return Judged(None, "too short")
    start = xs[0] + WARM_UP * (xs[-1] - xs[0])
    late = [(x, y) for x, y in zip(xs, ys, strict=True) if x >= start]
    if len(late) < FEWEST:  # a short run, of which most samples came early
        late = list(zip(xs, ys, strict=True))[int(EARLY * len(xs)) :]
    if len(late) < FEWEST:
        return Judged(None, "too short")
    bx, by = binned([x for x, _ in late], [y for _, y in late])
    if len(bx) < FEWEST:
        return Judged(None, "too short")
    levels = quarters(by)
    gained = levels[-1] - levels[0]
    if gained < least:
        return Judged(None, "flat")
    slope, low, high = theil_sen(bx, by)
    if low <= 0:
        return Judged(None, "flat")
    centres = quarters(bx)
    if centres[-1] <= centres[0]:
        centres = [float(i) for i in range(WINDOWS)]
    even = EVEN * gained / (centres[-1] - centres[0])
    for (x0, before), (x1, after) in pairwise(zip(centres, levels, strict=True)):
        if after - before < even * (x1 - x0):
            return Judged(None, "it does not grow in every window")
    if _drawdown(by) > FALLEN * (max(by) - by[0]):
        return Judged(None, "it falls back")
    half = len(bx) // 2
    first, second = theil_sen(bx[:half], by[:half])[0], theil_sen(bx[half:], by[half:])[0]
    stopped = _flat_tail(by)
    if stopped or (second < SLOWED * first and not _stairs(by)):
        return Judged(None, "it stopped growing" if stopped else "it is filling up")
    off = [y - slope * x for x, y in zip(bx, by, strict=True)]
    middle = median(off)
    noise = 1.4826 * median([abs(y - middle) for y in off])
    if gained < NOISE * noise:
        return Judged(None, "within the noise")
    return Judged(Growth(slope, low, high, gained), "it grows")


def binned(xs: Sequence[float], ys: Sequence[float], bins: int = BINS) -> tuple[list[float], list[float]]:
    """The medians over equal stretches of `xs`: moments that came close together count once."""
    if len(xs) <= FEWEST:
        return list(xs), list(ys)
    width = (xs[-1] - xs[0]) / bins or 1.0
    cells: dict[int, list[tuple[float, float]]] = {}
    for x, y in zip(xs, ys, strict=True):
        cells.setdefault(min(bins - 1, int((x - xs[0]) / width)), []).append((x, y))
    if len(cells) < FEWEST:  # steps that take long: as many moments as there are
        return list(xs), list(ys)
    points = [(median([x for x, _ in cell]), median([y for _, y in cell])) for cell in cells.values()]
    return [x for x, _ in points], [y for _, y in points]


def theil_sen(xs: Sequence[float], ys: Sequence[float]) -> tuple[float, float, float]:
    """The median of all pairwise slopes, and Sen's 95% interval of it.

    >>> theil_sen([0, 1, 2, 3, 4], [1.0, 3.0, 5.0, 7.0, 90.0])[0]
    2.0
    """
    slopes = sorted(
        (ys[j] - ys[i]) / (xs[j] - xs[i])
        for i in range(len(xs))
        for j in range(i + 1, len(xs))
        if xs[j] > xs[i]
    )
    if not slopes:
        return 0.0, 0.0, 0.0
    n, m = len(xs), len(slopes)
    reach = 1.96 * math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    low = max(0, int((m - reach) / 2))
    high = min(m - 1, int((m + reach) / 2) + 1)
    return median(slopes), slopes[low], slopes[high]


def quarters(ys: Sequence[float]) -> list[float]:
    """The median of each window."""
    size = len(ys) / WINDOWS
    return [median(ys[int(i * size) : max(int(i * size) + 1, int((i + 1) * size))]) for i in range(WINDOWS)]


def _drawdown(ys: Sequence[float]) -> float:
    """The deepest fall from a height that was reached before."""
    top, deepest = ys[0], 0.0
    for y in ys:
        top = max(top, y)
        deepest = max(deepest, top - y)
    return deepest


def _rises(ys: Sequence[float]) -> list[int]:
    """Where the series is higher than ever before, by more than a hair of all that it gained."""
    hair = 0.01 * (max(ys) - min(ys))
    top, found = ys[0], []
    for i, y in enumerate(ys):
        if y > top + hair:
            top = y
            found.append(i)
    return found


def _flat_tail(ys: Sequence[float]) -> bool:
    """Whether the last rise is longer ago than it ever took before."""
    rises = [0, *_rises(ys)]
    longest = max((b - a for a, b in pairwise(rises)), default=0)
    return len(ys) - 1 - rises[-1] > max(1.5 * longest, 0.1 * len(ys))


def _stairs(ys: Sequence[float]) -> bool:
    """Whether it grows in few, far jumps that go on: then the slopes of halves say little."""
    rises = _rises(ys)
    late = sum(rise >= len(ys) // 2 for rise in rises)
    return len(rises) <= len(ys) // 4 and late >= SLOWED * (len(rises) - late)
