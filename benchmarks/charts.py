"""`python -m benchmarks.charts`: the tables of RESULTS.md as two pictures."""

import argparse
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

RESULTS = Path(__file__).parent / "RESULTS.md"
PICTURES = Path(__file__).parent.parent / "docs" / "pictures"
WIDTH, LEFT, RIGHT, TOP, ROW, BAR = 920, 400, 70, 74, 40, 13
LINE = 58
"""So many letters of a title go on one line."""
LETTERS = 24
"""As wide as the number beside a bar."""
OURS, THEIRS, INK, FAINT = "#0b6e99", "#e0903a", "#24292f", "#d0d7de"


@dataclass(frozen=True)
class Bar:
    """A title with two numbers, and a mark for a third; None where there is none."""

    title: str
    first: float | None
    second: float | None
    mark: float | None = None


@dataclass(frozen=True)
class Chart:
    """Bars on a logarithmic scale, and what they mean."""

    title: str
    first: str
    second: str
    mark: str
    unit: str
    bars: Sequence[Bar]


def rows(text: str, section: str) -> list[dict[str, str]]:
    """The first table under a heading, a dictionary a row."""
    body = text.split(f"\n## {section}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in body.split("\n### ", 1)[0].splitlines() if line.startswith("|")]
    head, _, *cells = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return [dict(zip(head, row, strict=True)) for row in cells]


def number(cell: str) -> float | None:
    """What a cell says; None for a dash or nothing."""
    return float(cell.replace(",", "")) if re.fullmatch(r"[\d,]+(\.\d+)?", cell) else None


def speed(text: str) -> Chart:
    """How many times as fast as tf.data."""
    bars = [
        Bar(row["work"], number(row["x tf.data best"]), number(row["x fastest tf.data"]))
        for row in rows(text, "Speed")
    ]
    return Chart(
        "How many times as fast as tf.data",
        "as tf.data in the form of its performance guide",
        "as the fastest of all its forms",
        "",
        "",
        [bar for bar in bars if bar.first is not None],
    )


def memory(text: str) -> Chart:
    """The most memory at one time."""
    bars = [
        Bar(
            row["pipeline"] + (": refused by Penstock" if refused(row) else ""),
            None if refused(row) else number(row["penstock peak"]),
            number(row["tf.data peak"]),
            number(row["budget"]),
        )
        for row in rows(text, "Memory")
    ]
    title = "Most memory at one time, over the idle process"
    return Chart(title, "Penstock", "tf.data with the same ram_budget", "budget", " MiB", bars)


def refused(row: dict[str, str]) -> bool:
    """Whether Penstock has said that a pipeline cannot be run in so little memory."""
    return "BudgetError" in row["verdict"]


def wrapped(title: str) -> list[str]:
    """A title on as many lines as it needs, without Markdown."""
    lines = [""]
    for word in title.replace("`", "").split():
        if lines[-1] and len(lines[-1]) + len(word) >= LINE:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def draw(chart: Chart) -> str:
    """The picture as SVG, on a ground of its own, so that it can be read on any page."""
    values = [value for bar in chart.bars for value in (bar.first, bar.second, bar.mark) if value]
    low = min(0, math.floor(math.log10(min(values))))
    high = math.log10(max(values))
    height = TOP + ROW * len(chart.bars) + 30

    def x(value: float) -> float:
        share = (math.log10(max(value, 10**low)) - low) / max(high - low, 1e-9)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" '
        f'font-size="12" fill="{INK}" role="img" aria-label="{escape(chart.title)}">',
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#ffffff"/>',
        f'<text x="20" y="28" font-size="17" font-weight="bold">{escape(chart.title)}</text>',
    ]
    place = 20
    for colour, words, wide in ((OURS, chart.first, 12), (THEIRS, chart.second, 12), (INK, chart.mark, 3)):
        if not words:
            continue
        parts.append(f'<rect x="{place}" y="42" width="{wide}" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{place + wide + 6}" y="52">{escape(words)}</text>')
        place += 7 * len(words) + 40
    parts.append(f'<text x="{WIDTH - 20}" y="52" text-anchor="end">logarithmic scale</text>')
    for power in range(low, math.floor(high) + 1):
        at = x(10.0**power)
        heavy = 2 if power == 0 and not chart.unit else 1
        parts.append(
            f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{TOP - 8}" y2="{height - 24}" stroke="{FAINT}" '
            f'stroke-width="{heavy}"/><text x="{at:.1f}" y="{height - 8}" text-anchor="middle">'
            f"{10.0**power:,.{max(0, -power)}f}{chart.unit}</text>"
        )
    for index, bar in enumerate(chart.bars):
        parts += drawn(bar, TOP + ROW * index, x, chart.unit)
    return "\n".join([*parts, "</svg>\n"])


def drawn(bar: Bar, top: int, x: Callable[[float], float], unit: str) -> list[str]:
    """One title with its bars."""
    parts = []
    lines = wrapped(bar.title)
    for place, line in enumerate(lines):
        y = top + 17 + 14 * (place - (len(lines) - 1) / 2)
        parts.append(
            f'<text x="{LEFT - 10}" y="{y:.0f}" text-anchor="end" font-size="11">{escape(line)}</text>'
        )
    mark = None if bar.mark is None else x(bar.mark)
    for offset, value, colour in ((0, bar.first, OURS), (BAR, bar.second, THEIRS)):
        if value is None:
            continue
        start, end = sorted((LEFT if unit else x(1.0), x(value)))
        words = end + 5
        if mark is not None and words - LETTERS < mark < words + LETTERS:
            words = mark + 5  # not across it
        parts.append(
            f'<rect x="{start:.1f}" y="{top + offset}" width="{max(end - start, 1):.1f}" '
            f'height="{BAR - 1}" fill="{colour}"/>'
            f'<text x="{words:.1f}" y="{top + offset + 10}" font-size="11">{shown(value, unit)}</text>'
        )
    if mark is not None:
        parts.append(
            f'<rect x="{mark - 1.5:.1f}" y="{top - 2}" width="3" height="{2 * BAR + 3}" fill="{INK}"/>'
        )
    return parts


def shown(value: float, unit: str) -> str:
    """A number with as many digits as say something."""
    digits = 0 if unit or value >= 100 else 1 if value >= 1 else 2
    return f"{value:,.{digits}f}"


def pictures(text: str) -> dict[str, str]:
    """The pictures of some results, by the names of their files."""
    return {"speed.svg": draw(speed(text)), "memory.svg": draw(memory(text))}


def write() -> None:
    """Write those of RESULTS.md."""
    PICTURES.mkdir(exist_ok=True)
    for name, picture in pictures(RESULTS.read_text()).items():
        (PICTURES / name).write_text(picture)


if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m benchmarks.charts", description=__doc__).parse_args()
    write()
