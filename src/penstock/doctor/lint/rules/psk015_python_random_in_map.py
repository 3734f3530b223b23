"""Python's randomness in a function that tf.data traces: drawn once, for all elements."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.randomness import PYTHON, draws
from penstock.doctor.lint.rule import Hit, Rule

TRACED = frozenset(["map", "filter", "flat_map", "interleave", "scan", "take_while"])


def check(facts: Facts) -> Iterator[Hit]:
    """Functions given to tf.data that draw with `random` or `np.random` themselves."""
    for chain in facts.whole:
        if chain.library != "tf":
            continue
        for step in chain.steps:
            function = step.argument("map_func", 0) or step.argument("predicate", 0)
            if (
                step.name in TRACED
                and function is not None
                and (drawn := draws(facts, function, step.frame, PYTHON))
            ):
                yield (
                    function,
                    f"{drawn} runs once, when tf.data traces the function: all elements get that draw",
                )


RULE = Rule(
    code="PSK015",
    name="python-random-in-map",
    level="error",
    title="Python randomness in a traced function",
    why="tf.data calls the function once, with symbols, and runs the graph that comes of it. What "
    "`random` or `np.random` gave at that moment is a constant for every element of every epoch.",
    fix="Draw with tf.random or tf.image.random_*, or wrap the function in tf.numpy_function. Penstock "
    "calls the function itself for every element.",
    bad="""\
import numpy as np
import tensorflow as tf

ds = tf.data.Dataset.range(100).map(lambda x: tf.cast(x, tf.float32) + np.random.rand())
""",
    good="""\
import tensorflow as tf

ds = tf.data.Dataset.range(100).map(lambda x: tf.cast(x, tf.float32) + tf.random.uniform([]))
""",
    check=check,
    libraries=("tensorflow",),
    hints=("random", "Dataset"),
    sources=("https://www.tensorflow.org/guide/function#executing_python_side_effects",),
)
