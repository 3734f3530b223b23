"""Numbers to Markdown: what RESULTS.md holds and what is printed."""

from collections.abc import Sequence
from statistics import median

from benchmarks.declare import Peer, Work
from benchmarks.measure import Point, Seen
from benchmarks.memory.pipeline import MIB, SLACK, Pipeline, bound
from benchmarks.tuned import AUTOTUNE, Grid, Tuned

SEVERAL = 3
"""Of so many processes it is told how they differed."""
EXACT = 3.0
"""A ratio below this has two decimals, and is not rounded up: goals are near."""


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lay out a Markdown table whose columns also line up as plain text."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    rule = ["-" * width for width in widths]
    return [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in (head, rule, *rows)
    ]


def fastest(results: dict[Peer, Seen], library: str, forms: Sequence[str]) -> float | None:
    """The best time of a library in some of its forms."""
    times = [
        seen.best
        for peer, seen in results.items()
        if peer.system == library and peer.form in forms and seen.best is not None
    ]
    return min(times, default=None)


def ratio(base: float | None, seconds: float | None) -> str:
    """How many times as fast as `base`."""
    if base is None or seconds is None:
        return "-"
    times = base / seconds
    if times >= EXACT:
        return f"{times:.1f}"
    return f"{int(100 * times + 1e-6) / 100:.2f}"


def speed(results: dict[Peer, Seen]) -> list[str]:
    """One work: each peer's speed as a multiple of tf.data's, and what it held."""
    every = fastest(results, "tf.data", ("naive", "best", "expert"))
    guide = fastest(results, "tf.data", ("naive", "best"))
    rows = [
        [
            peer.name,
            ratio(every, seen.best),
            ratio(guide, seen.best),
            "-" if seen.best is None else f"{seen.best:.3f}",
            "-" if seen.first is None else f"{seen.first:.3f}",
            mebibytes(seen.peak),
            note(seen),
        ]
        for peer, seen in results.items()
    ]
    head = ["peer", "x fastest tf.data", "x tf.data best", "seconds", "first pass", "MiB", "note"]
    return table(head, rows)


def note(seen: Seen) -> str:
    """What a reader has to know about one peer's time; what exactly went wrong is not published."""
    if seen.trouble:
        return "failed"
    if not seen.bests:
        return "first pass counts"
    if len(seen.bests) < SEVERAL:
        return ""
    return f"the best of {len(seen.bests)} processes; their middle {median(seen.bests):.4f}"


def goals(results: dict[Work, dict[Peer, Seen]]) -> list[str]:
    """All works in short: Penstock against the others, and what was asked for."""
    rows = []
    for work, peers in results.items():
        own = fastest(peers, "penstock", ("",))
        compared = (
            ("tf.data", ("naive", "best", "expert")),
            ("tf.data", ("naive", "best")),
            ("tf.data", ("naive",)),
            ("torch", ("naive", "best", "expert")),
            ("torch", ("naive",)),
        )
        times = [ratio(fastest(peers, system, forms), own) for system, forms in compared]
        rows.append([work.title, f"{work.goal:g} {work.against}".strip() if work.goal else "", *times])
    tf_data = ["x fastest tf.data", "x tf.data best", "x tf.data naive"]
    return table(["work", "goal", *tf_data, "x fastest DataLoader", "x DataLoader naive"], rows)


def memory(rows: dict[Pipeline, tuple[Seen, Seen, Seen | None]]) -> list[str]:
    """All pipelines: the bound, the peaks and what became of the run inside a cgroup."""
    cells = [
        [
            pipeline.title,
            mebibytes(pipeline.budget),
            mebibytes(bound(pipeline.budget)),
            peak(tf_data),
            peak(penstock),
            mebibytes(penstock.after_close),
            verdict(pipeline, penstock),
            survival(inside),
            "-" if penstock.first is None else f"{penstock.first:.1f}",
            "-" if tf_data.first is None else f"{tf_data.first:.1f}",
        ]
        for pipeline, (penstock, tf_data, inside) in rows.items()
    ]
    head = ["pipeline", "budget", "bound", "tf.data peak", "penstock peak", "after close"]
    return table([*head, "verdict", "in a cgroup", "penstock s", "tf.data s"], cells)


def verdict(pipeline: Pipeline, seen: Seen) -> str:
    """Judge one run of Penstock."""
    if seen.trouble:
        return "failed"
    if seen.refusal and not pipeline.refused:
        return "refused: " + seen.refusal.split(". ")[0]
    if seen.peak > bound(pipeline.budget):
        return "over the bound"
    if seen.after_close > SLACK:
        return "kept memory"
    return "within (BudgetError)" if seen.refusal else "within"


def survival(seen: Seen | None) -> str:
    """Judge one run of Penstock inside its cgroup."""
    if seen is None:
        return "-"
    if seen.killed:
        return "killed"
    return "failed" if seen.trouble else "survived"


def tuned(results: dict[Tuned, Grid]) -> list[str]:
    """All pipelines: what AUTOTUNE came to, against the best of the grid."""
    rows = []
    for work, seen in results.items():
        own, best = seen.middle(AUTOTUNE), seen.middle_late(seen.best)
        lates = (own.late, min(rate.late for rate in seen.last[AUTOTUNE]), own.early)
        failed = sum(bool(rate.trouble) for runs in seen.last.values() for rate in runs)
        rows.append(
            [
                work.title,
                f"{own.late:,.0f}",
                f"{best:,.0f} ({seen.best.replace(' ', ', ')})",
                *(f"{100 * late / best:.0f}%" if best else "-" for late in lates),
                "; ".join(own.chosen) + (f" ({failed} runs failed)" if failed else ""),
            ]
        )
    head = ["pipeline", "AUTOTUNE", "best of the grid", "of it", "its slowest run", "until then", "chosen"]
    return table(head, rows)


def grid(work: Tuned, seen: Grid) -> list[str]:
    """The grid of one pipeline: a row for each number of calls, a column for each depth."""

    def best(calls: int, depth: int) -> str:
        return f"{max(rate.late for rate in seen.rates[f'{calls} {depth}']):,.0f}"

    head = ["calls", *(f"prefetch({depth})" for depth in work.depths)]
    return table(head, [[str(calls), *(best(calls, depth) for depth in work.depths)] for calls in work.calls])


def flat(results: dict[str, tuple[list[Point], str]]) -> list[str]:
    """All points of the flat works."""
    rows = [
        [
            work,
            f"{point.count:,}",
            mebibytes(point.memory),
            str(point.threads),
            str(point.descriptors),
        ]
        for work, (points, _) in results.items()
        for point in points
    ]
    for work, (_, trouble) in results.items():
        if trouble:
            rows.append([work, "failed", "", "", ""])
    return table(["work", "after", "RSS MiB", "threads", "descriptors"], rows)


def peak(seen: Seen) -> str:
    """The peak of a run, or why there is none."""
    return "failed" if seen.trouble else mebibytes(seen.peak)


def mebibytes(size: int) -> str:
    """Whole mebibytes."""
    return str(round(size / MIB))
