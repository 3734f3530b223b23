"""`cache()` keeps what the next step throws away."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.kept import named, uses
from penstock.doctor.lint.randomness import draws
from penstock.doctor.lint.rule import Hit, Rule

BETWEEN = frozenset(["map", "prefetch", "enumerate", "with_options"])


def check(facts: Facts) -> Iterator[Hit]:
    """`cache` in memory, followed by a `filter` that is the same in every epoch."""
    for chain in facts.whole:
        for place, step in chain.find("cache"):
            if step.call.args or step.call.keywords:
                continue  # a file holds it
            if (name := named(facts, step.call)) and len(uses(facts, name.id, name, facts.tree)) > 1:
                continue  # others read the cache too
            for later in chain.after(place):
                if later.name == "filter":
                    test = later.argument("predicate", 0)
                    if test is not None and not draws(facts, test, later.frame):
                        yield (
                            step.call,
                            "cache() keeps elements that filter() then throws away in every epoch",
                        )
                    break
                mapped = later.argument("map_func", 0)
                if later.name not in BETWEEN or (mapped is not None and draws(facts, mapped, later.frame)):
                    break


RULE = Rule(
    code="PSK004",
    name="cache-before-filter",
    level="warning",
    title="cache before a filter",
    why="The cache holds every element, also those that the filter behind it drops, and the filter runs "
    "again in every epoch.",
    fix="Filter first, then cache.",
    bad="""\
import penstock as ps

ds = ps.TFRecordDataset("train.tfrecord").map(parse).cache().filter(lambda x: x["width"] > 64).batch(32)
""",
    good="""\
import penstock as ps

ds = ps.TFRecordDataset("train.tfrecord").map(parse).filter(lambda x: x["width"] > 64).cache().batch(32)
""",
    check=check,
    libraries=("tensorflow", "penstock"),
    hints=(r"\.cache\(", r"\.filter\("),
    sources=("https://github.com/tensorflow/tensorflow/issues/27128",),
)
