"""`from_generator` in a loop: TensorFlow keeps every one of them."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.loops import repeated
from penstock.doctor.lint.rule import Hit, Rule


def check(facts: Facts) -> Iterator[Hit]:
    """Calls in a loop that give a dataset whose source is `from_generator` of tf.data."""
    for call in facts.calls:
        if facts.called(call) != "tf.data.Dataset.from_generator" and facts.function(call.func) is None:
            continue
        if repeated(facts, call) is None:
            continue
        chains = facts.pipelines.chains(call)
        if chains and all(chain.start == "tf.data.Dataset.from_generator" for chain in chains):
            yield (
                call,
                "from_generator() in a loop: TensorFlow keeps the functions of every dataset made this way",
            )


RULE = Rule(
    code="PSK002",
    name="generator-dataset-in-loop",
    level="error",
    title="from_generator in a loop",
    why="Each `from_generator` puts Python functions into a registry of TensorFlow that is never emptied. "
    "The dataset dies, its generator and all that it refers to stay: memory grows with every round.",
    fix="Build the dataset once, before the loop. If each round needs other data, let one generator read "
    "it from an object that the loop changes.",
    bad="""\
import tensorflow as tf


def train(rounds, read, spec, model):
    for number in range(rounds):
        ds = tf.data.Dataset.from_generator(lambda: read(number), output_signature=spec)
        model.fit(ds)
""",
    good="""\
import tensorflow as tf


def train(rounds, read, spec, model):
    current = {"number": 0}
    ds = tf.data.Dataset.from_generator(lambda: read(current["number"]), output_signature=spec)
    for number in range(rounds):
        current["number"] = number
        model.fit(ds)
""",
    check=check,
    libraries=("tensorflow",),
    hints=("from_generator",),
    sources=(
        "https://github.com/tensorflow/tensorflow/issues/37653",
        "https://github.com/tensorflow/tensorflow/issues/65675",
    ),
)
