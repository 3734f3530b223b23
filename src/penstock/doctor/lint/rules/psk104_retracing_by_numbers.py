"""Python numbers as arguments of a `tf.function`: each one is another trace."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.loops import few
from penstock.doctor.lint.rule import Hit, Rule
from penstock.doctor.lint.tracing import counted_calls, counts, rounds

FEW = 5
"""TensorFlow itself warns from the fifth trace on."""


def check(facts: Facts) -> Iterator[Hit]:
    """Calls of a `tf.function` in a loop, with a Python number that counts the rounds."""
    for call, found, loop in counted_calls(facts):
        if found.library != "tf" or found.option("input_signature") is not None or few(facts, loop):
            continue
        if (rounds(facts, loop) or FEW) < FEW:
            continue
        for one in [*call.args, *(word.value for word in call.keywords)]:
            if counts(facts, one, loop):
                yield (
                    one,
                    f"`{ast.unparse(one)}` is a Python number: the function is traced again for each",
                )
                break


RULE = Rule(
    code="PSK104",
    name="retracing-by-numbers",
    level="error",
    title="retracing by Python numbers",
    why="A `tf.function` keeps one graph for each value of a Python number that it is called with. A step "
    "counter gives a new graph at every step: slow, and memory grows with each.",
    fix="Pass a tensor: tf.constant(step), or a tf.Variable that counts; or declare input_signature.",
    bad="""\
import tensorflow as tf


@tf.function
def train_step(x, step):
    return x * tf.cast(step, tf.float32)


def train(ds):
    for step, x in enumerate(ds):
        train_step(x, step)
""",
    good="""\
import tensorflow as tf


@tf.function
def train_step(x, step):
    return x * tf.cast(step, tf.float32)


def train(ds):
    for step, x in enumerate(ds):
        train_step(x, tf.constant(step))
""",
    check=check,
    libraries=("tensorflow",),
    hints=(r"\bfunction\b", r"range|enumerate|\+="),
    sources=(
        "https://github.com/tensorflow/tensorflow/issues/44711",
        "https://www.tensorflow.org/guide/function#rules_of_tracing",
    ),
)
