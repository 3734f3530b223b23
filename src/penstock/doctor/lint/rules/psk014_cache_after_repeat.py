"""`repeat().cache()` fills memory for ever."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.rule import Hit, Rule
from penstock.doctor.lint.rules.psk013_repeat_without_steps import BOUNDS, endless


def check(facts: Facts) -> Iterator[Hit]:
    """`cache` behind a `repeat` without end, with nothing between that ends it."""
    for chain in facts.whole:
        for place, step in chain.find("cache"):
            before = chain.before(place)
            starts = [number for number, one in enumerate(before) if endless(one)]
            if starts and not any(one.name in BOUNDS for one in before[starts[0] :]):
                yield step.call, "cache() behind repeat(): the cache grows for ever and is never used"


RULE = Rule(
    code="PSK014",
    name="cache-after-repeat",
    level="error",
    title="cache after repeat()",
    why="A stream without end has no last element. The cache keeps every element of every epoch, is never "
    "complete, and so is never read: memory grows until the process is killed.",
    fix="Write cache().repeat().",
    bad="""\
import tensorflow as tf

ds = tf.data.TFRecordDataset(["train.tfrecord"]).map(parse).repeat().cache().batch(32)
""",
    good="""\
import tensorflow as tf

ds = tf.data.TFRecordDataset(["train.tfrecord"]).map(parse).cache().repeat().batch(32)
""",
    check=check,
    libraries=("tensorflow", "penstock"),
    hints=(r"\.repeat\(", r"\.cache\("),
    sources=("https://github.com/tensorflow/tensorflow/issues/27128",),
)
