"""`cache().take(n)`: a cache that is never complete."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.kept import named, uses
from penstock.doctor.lint.module import constant
from penstock.doctor.lint.rule import Hit, Rule


def check(facts: Facts) -> Iterator[Hit]:
    """`cache` directly before `take`, where nothing else reads the cached dataset."""
    for chain in facts.whole:
        for place, step in chain.find("cache"):
            after = chain.after(place)
            if chain.library != "tf" or not after or after[0].name != "take":
                continue
            if constant(after[0].argument("count", 0)) == -1 or "repeat" in [one.name for one in after]:
                continue
            readers = {
                other.steps[spot + 1].call if spot + 1 < len(other.steps) else None
                for other in facts.whole
                for spot, one in enumerate(other.steps)
                if one.call is step.call
            }
            if readers == {after[0].call} and _directly(facts, step.call, after[0].call):
                yield (
                    step.call,
                    "cache() before take(): the cache is never read to its end, so it is thrown away",
                )


def _directly(facts: Facts, cached: ast.Call, taken: ast.Call) -> bool:
    """Whether `take` is all that is done with a cache: in one chain, or by a name that has no other use."""
    if isinstance(taken.func, ast.Attribute) and taken.func.value is cached:
        return True
    name = named(facts, cached)
    return name is not None and len(uses(facts, name.id, name, facts.tree)) == 1


RULE = Rule(
    code="PSK005",
    name="cache-before-take",
    level="warning",
    title="cache before take",
    why="A cache counts only once it was read to its end. `take` stops before that: tf.data drops what it "
    "has cached and reads everything again in the next epoch.",
    fix="Write take(n).cache().",
    bad="""\
import tensorflow as tf

ds = tf.data.TFRecordDataset(["train.tfrecord"]).map(parse).cache().take(100)
""",
    good="""\
import tensorflow as tf

ds = tf.data.TFRecordDataset(["train.tfrecord"]).map(parse).take(100).cache()
""",
    check=check,
    libraries=("tensorflow",),
    hints=(r"\.cache\(", r"\.take\("),
    sources=("https://www.tensorflow.org/api_docs/python/tf/data/Dataset#cache",),
)
