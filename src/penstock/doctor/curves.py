"""Curves as SVG."""

from __future__ import annotations

import math

from penstock.doctor.findings import Curve
from penstock.memory.sizes import show_bytes

WIDTH, HEIGHT = 720, 200
LEFT, RIGHT, TOP, BOTTOM = 74, 12, 12, 42


def plot(curve: Curve, unit: str, along: str) -> str:
    """One curve with its axes.

    >>> plot(Curve((0.0, 1.0), (0.0, 5.0)), "members", "steps").startswith("<svg")
    True
    """
    if len(curve.xs) < 2:
        return ""
    x0, x1 = curve.xs[0], max(curve.xs[-1], curve.xs[0] + 1e-9)
    y0, y1 = min(curve.ys), max(curve.ys)
    y1 = y1 if y1 > y0 else y0 + 1
    wide, high = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def across(x: float) -> float:
        return LEFT + (x - x0) / (x1 - x0) * wide

    def up(y: float) -> float:
        return TOP + (1 - (y - y0) / (y1 - y0)) * high

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img">']
    scale = 1024.0 ** int(math.log(max(y1 - y0, 1.0), 1024)) if unit == "bytes" else 1.0
    for y in (scale * tick for tick in ticks(y0 / scale, y1 / scale)):
        at = up(y)
        parts.append(f'<path d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}" stroke="#e3e7ee"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{_label(y, unit)}</text>')
    parts += [
        f'<text x="{across(x):.1f}" y="{HEIGHT - 24}" text-anchor="middle">{x:,.4g}</text>'
        for x in ticks(x0, x1)
    ]
    parts.append(
        f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 6}" text-anchor="end">{along.replace("`", "")}</text>'
    )
    points = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in zip(curve.xs, curve.ys, strict=True))
    parts.append(f'<polyline points="{points}" fill="none" stroke="#c4320a" stroke-width="2"/></svg>')
    return "".join(parts)


def ticks(low: float, high: float, about: int = 4) -> list[float]:
    """A few round numbers between two.

    >>> ticks(0, 100)
    [0.0, 25.0, 50.0, 75.0, 100.0]
    """
    rough = (high - low) / about
    if rough <= 0:
        return [low]
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * times for times in (1, 2, 2.5, 5, 10) if power * times >= rough * 0.999)
    first = math.ceil(low / step) * step
    return [first + i * step for i in range(int((high - first) / step + 1e-9) + 1)]


def _label(value: float, unit: str) -> str:
    return show_bytes(value) if unit == "bytes" else f"{value:,.4g}"
