"""RESULTS.md, whole: what was measured and how, then the tables."""

from dataclasses import dataclass, field

from benchmarks import resume, tables, words
from benchmarks.declare import Peer, Work
from benchmarks.measure import Point, Seen
from benchmarks.memory.pipeline import Pipeline
from benchmarks.rounds import FINALISTS, GRID_ROUNDS, LAST_ROUNDS
from benchmarks.tuned import Grid, Tuned

HEAD = """# Results

Written by `make bench`; how it is measured stands in [README.md](README.md).
"""

SPEED = """
## Speed

How many times as fast as tf.data, in the same run; more than 1 is faster. *Fastest tf.data* is the
fastest of all its forms listed below; *best* is the form of its performance guide, *naive* the one
of its tutorials.
"""

WORDS = """
## Word for word

Pipelines as a tutorial of tf.data writes them, and the same words of Penstock: none was made quick by hand.
"""

MEMORY = """
## Memory

Peak resident memory over the idle process in MiB, seen from outside. The bound is the budget, a
tenth of it, and 24 MiB; tf.data gets the same budget as `autotune.ram_budget`. In the cgroup, the
same Penstock pipeline runs under a limit of what was charged when idle plus the bound
("-": not tried, or no right to make one).
"""

TUNED = f"""
## AUTOTUNE

Elements a second with `AUTOTUNE` for the calls and the prefetch, after two seconds and 200 batches,
and with each setting of a hand-made grid (calls at once, elements of prefetch): the better of
{GRID_ROUNDS} runs of each. The best of so many runs is also the luckiest, so the {FINALISTS} best settings
are run again, by turns with `AUTOTUNE`, {LAST_ROUNDS} times each (with `--quick` all of it once); of each
the run in the middle is compared. The goal is 90% of the best.
"""

RESUME = """
## Going on elsewhere

A pass is stopped in the middle and its state written to a folder; another process declares the same
pipeline and goes on from there. The time to go on runs from the declared pipeline to the next batch,
which has to be the right one.
"""

FLAT = """
## Over many runs
"""


@dataclass
class Results:
    """Everything that one call of the benchmarks saw."""

    machine: list[str]
    speed: dict[Work, dict[Peer, Seen]] = field(default_factory=dict)
    words: list[list[str]] = field(default_factory=list)
    memory: dict[Pipeline, tuple[Seen, Seen, Seen | None]] = field(default_factory=dict)
    tuned: dict[Tuned, Grid] = field(default_factory=dict)
    resume: dict[str, list[list[str]]] = field(default_factory=dict)
    flat: dict[str, tuple[list[Point], str]] = field(default_factory=dict)

    def trouble(self) -> list[str]:
        """Say which works did not run to their end, and why."""
        speed = [
            f"{work.name} {peer.name}: {seen.trouble}"
            for work, peers in self.speed.items()
            for peer, seen in peers.items()
            if seen.trouble
        ]
        memory = [
            f"{pipeline.name}: {seen.trouble}"
            for pipeline, runs in self.memory.items()
            for seen in runs
            if seen is not None and seen.trouble
        ]
        tuned = [
            f"{work.name} {setting}: {rate.trouble}"
            for work, seen in self.tuned.items()
            for runs in (seen.rates, seen.last)
            for setting, rates in runs.items()
            for rate in rates
            if rate.trouble
        ]
        resumed = [
            f"resume, {row[0]}, the same batch: {row[-1]}"
            for rows in self.resume.values()
            for row in rows
            if row[-1] != "yes"
        ]
        return speed + memory + tuned + resumed + [trouble for _, trouble in self.flat.values() if trouble]


def speed_section(work: Work, results: dict[Peer, Seen]) -> list[str]:
    """The table of one work under its title."""
    return ["", f"### {work.title}", "", *tables.speed(results)]


def write(results: Results) -> str:
    """Lay out everything that was measured."""
    lines = [HEAD, *(f"- {fact}" for fact in results.machine)]
    if results.speed:
        lines += [SPEED, *tables.goals(results.speed)]
        for work, peers in results.speed.items():
            lines += speed_section(work, peers)
    if results.words:
        lines += [WORDS, *tables.table(words.HEAD, results.words)]
    if results.memory:
        lines += [MEMORY, *tables.memory(results.memory)]
    if results.tuned:
        lines += [TUNED, *tables.tuned(results.tuned)]
        for pipeline, seen in results.tuned.items():
            lines += ["", f"### {pipeline.title}", "", *tables.grid(pipeline, seen)]
    if results.resume:
        lines.append(RESUME)
        for title, rows in results.resume.items():
            lines += [f"### {title}", "", *tables.table(resume.HEAD, rows), ""]
    if results.flat:
        lines += [FLAT, *tables.flat(results.flat)]
    return "\n".join(lines) + "\n"
