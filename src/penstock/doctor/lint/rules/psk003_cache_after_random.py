"""`cache()` keeps what was drawn at random: every epoch gets the same."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.pipelines import Chain
from penstock.doctor.lint.randomness import draws
from penstock.doctor.lint.rule import Hit, Rule

CHOOSES = frozenset(["take", "skip", "shard", "filter", "interleave", "flat_map", "apply"])
"""Behind a shuffle these draw a sample that is meant to stay, or read the files whose names were shuffled."""

HELD_OUT = frozenset(["val", "valid", "validation", "test", "eval", "evaluation", "dev"])


def check(facts: Facts) -> Iterator[Hit]:
    """`cache` with a random `map` or a `shuffle` before it, and no `shuffle` behind it."""
    for chain in facts.whole:
        for place, step in chain.find("cache"):
            if _held_out(facts, step.call):
                continue
            if drawn := _random_map(facts, chain, place):
                yield step.call, f"cache() keeps what {drawn} drew: every epoch gets the same augmentation"
            elif _frozen_order(chain, place):
                yield step.call, "cache() after shuffle(): every epoch comes in the same order"


def _random_map(facts: Facts, chain: Chain, place: int) -> str:
    for step in chain.before(place):
        function = step.argument("map_func", 0)
        if step.name == "map" and function is not None and (drawn := draws(facts, function, step.frame)):
            return drawn
    return ""


def _frozen_order(chain: Chain, place: int) -> bool:
    before, after = chain.before(place), chain.after(place)
    shuffles = [number for number, step in enumerate(before) if step.name == "shuffle"]
    if not shuffles or any(step.name in {"shuffle", "apply"} for step in after):
        return False
    last = before[shuffles[-1]]
    if last.argument("reshuffle_each_iteration", 2) is not None or last.argument("seed", 1) is not None:
        return False  # the order is meant to be the same
    return not any(step.name in CHOOSES for step in before[shuffles[-1] :])


def _held_out(facts: Facts, call: ast.Call) -> bool:
    """Whether the name says that nothing is trained on it: the same in every epoch is right."""
    made = facts.statement(call)
    names = [one for one in ast.walk(made) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]
    return bool(names) and all(HELD_OUT & set(one.id.lower().split("_")) for one in names)


RULE = Rule(
    code="PSK003",
    name="cache-after-random",
    level="error",
    title="cache after random augmentation",
    why="The cache keeps elements as they came out the first time. Random flips and crops, or the order "
    "of a shuffle, are drawn once, and every later epoch sees exactly the same.",
    fix="Put cache() before the random steps: cache what is costly and always the same, such as decoding.",
    bad="""\
import tensorflow as tf


def augment(image, label):
    return tf.image.random_flip_left_right(image), label


ds = tf.data.TFRecordDataset(["train.tfrecord"]).map(parse).map(augment).cache().batch(32)
""",
    good="""\
import tensorflow as tf


def augment(image, label):
    return tf.image.random_flip_left_right(image), label


ds = tf.data.TFRecordDataset(["train.tfrecord"]).map(parse).cache().map(augment).batch(32)
""",
    check=check,
    libraries=("tensorflow", "penstock"),
    hints=(r"\.cache\(",),
    sources=("https://www.tensorflow.org/guide/data_performance#caching",),
)
