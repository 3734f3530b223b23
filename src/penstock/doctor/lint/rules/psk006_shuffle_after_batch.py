"""`batch().shuffle()` shuffles batches, not elements."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.pipelines import BATCHED, BATCHES, of_one
from penstock.doctor.lint.rule import Hit, Rule

OPENS = frozenset(["unbatch", "flat_map", "interleave", "apply", "window", "group_by_window"])


def check(facts: Facts) -> Iterator[Hit]:
    """`shuffle` with a `batch` before it, where no second `shuffle` or `batch` makes sense of it."""
    twice = {
        step.call
        for chain in facts.whole
        for place, step in chain.find("shuffle")
        if any(one.name == "shuffle" for one in chain.before(place))
    }
    for chain in facts.whole:
        for place, step in chain.find("shuffle"):
            if step.call in twice:
                continue
            before, after = chain.before(place), [one.name for one in chain.after(place)]
            batches = [
                number for number, one in enumerate(before) if one.name in BATCHES and not of_one(facts, one)
            ]
            if not batches or chain.start in BATCHED or BATCHES & set(after) or OPENS & set(after):
                continue
            names = [one.name for one in before]
            if OPENS & set(names[batches[-1] :]) or chain.source is None:
                continue
            if sum(name in BATCHES for name in names) > 1 or _picks(facts, step.call):
                continue
            yield (
                step.call,
                "shuffle() comes after batch(): whole batches change places, their contents never do",
            )


def _picks(facts: Facts, call: ast.Call) -> bool:
    """Whether the shuffle only picks a batch at random: `ds.shuffle(10).take(1)`."""
    above = facts.parents[call]
    return isinstance(above, ast.Attribute) and above.attr == "take"


RULE = Rule(
    code="PSK006",
    name="shuffle-after-batch",
    level="warning",
    title="shuffle after batch",
    why="Behind `batch`, `shuffle` moves whole batches: the same elements stay together in every epoch. "
    "And its buffer counts batches, so it holds `batch_size` times as much memory as the number says.",
    fix="Put shuffle() before batch().",
    bad="""\
import penstock as ps

ds = ps.Dataset.from_tensor_slices(x).batch(32).shuffle(1000)
""",
    good="""\
import penstock as ps

ds = ps.Dataset.from_tensor_slices(x).shuffle(1000).batch(32)
""",
    check=check,
    libraries=("tensorflow", "penstock"),
    hints=(r"\.shuffle\(", r"batch\("),
    sources=("https://www.tensorflow.org/guide/data#randomly_shuffling_input_data",),
)
