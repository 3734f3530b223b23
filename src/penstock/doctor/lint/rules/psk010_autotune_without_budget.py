"""`prefetch(AUTOTUNE)` with nothing that bounds it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice

from penstock.doctor.lint.consumers import readers
from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.pipelines import AUTOTUNE
from penstock.doctor.lint.rule import Hit, Rule


def check(facts: Facts) -> Iterator[Hit]:
    """The first `prefetch(AUTOTUNE)` that this file itself reads without a budget: once is enough."""
    yield from islice(_all(facts), 1)


def _all(facts: Facts) -> Iterator[Hit]:
    if any(isinstance(node, ast.Attribute) and node.attr == "ram_budget" for node in facts.nodes):
        return
    if any(isinstance(node, ast.keyword) and node.arg == "ram_budget" for node in facts.nodes):
        return
    for node in readers(facts):
        for chain in facts.pipelines.chains(node):
            if chain.library != "tf" or "with_options" in chain.names or not chain.steps:
                continue
            last = [step for step in chain.steps if step.name == "prefetch"][-1:]
            for step in last:
                size = step.argument("buffer_size", 0)
                if size is not None and (facts.name(size) in AUTOTUNE):
                    yield (
                        step.call,
                        "prefetch(AUTOTUNE) and no ram_budget: tf.data may take half of the host's memory",
                    )


RULE = Rule(
    code="PSK010",
    name="autotune-without-budget",
    level="note",
    title="AUTOTUNE prefetch with no budget",
    why="With AUTOTUNE, tf.data picks the size of the buffer itself, from the memory of the host, not of "
    "the container. Where elements are large or grow, that ends in a kill for want of memory.",
    fix="Prefetch a small number (1 to 4 batches are enough to overlap), or set "
    "options.autotune.ram_budget and pass it with with_options().",
    bad="""\
import tensorflow as tf

ds = tf.data.TFRecordDataset(["train.tfrecord"]).map(parse).batch(32).prefetch(tf.data.AUTOTUNE)
model.fit(ds, epochs=10)
""",
    good="""\
import tensorflow as tf

ds = tf.data.TFRecordDataset(["train.tfrecord"]).map(parse).batch(32).prefetch(2)
model.fit(ds, epochs=10)
""",
    check=check,
    libraries=("tensorflow",),
    hints=(r"\.prefetch\(", "AUTOTUNE"),
    sources=(
        "https://github.com/horovod/horovod/pull/4296",
        "https://github.com/tensorflow/tensorflow/issues/33960",
    ),
)
