"""Python's randomness in a function that tf.data traces: drawn once, for all elements."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.randomness import PYTHON, draws, is_draw
from penstock.doctor.lint.rule import Hit, Rule
from penstock.doctor.lint.tracing import traced_def

TRACED = frozenset(["map", "filter", "flat_map", "interleave", "scan", "take_while"])


def check(facts: Facts) -> Iterator[Hit]:
    """Functions given to tf.data, or traced themselves, that draw with `random` or `np.random`."""
    for node in facts.nodes:
        if isinstance(node, ast.FunctionDef) and (found := traced_def(facts, node)):
            tool = "tf.function" if found.library == "tf" else "jit"
            for call, drawn in _drawn(facts, node):
                yield call, f"{drawn} runs once, when {tool} traces the function: all calls get that draw"
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


def _drawn(facts: Facts, made: ast.FunctionDef) -> Iterator[Hit]:
    """The first draw in the body of a function that is not said to be a constant."""
    for node in facts.inside(made):
        if not isinstance(node, ast.Call) or not is_draw(facts.called(node), PYTHON):
            continue
        if facts.called(facts.parents[node]) not in {"tf.constant", "tf.Variable"}:
            yield node, f"{ast.unparse(node.func)}()"
            return


RULE = Rule(
    code="PSK015",
    name="python-random-in-map",
    level="error",
    title="Python randomness in a traced function",
    why="tf.data, tf.function and jit call the function once, with symbols, and run what comes of it. What "
    "`random` or `np.random` gave at that moment is a constant for all that comes later.",
    fix="Draw with tf.random or tf.image.random_*, in JAX with jax.random and a key; or wrap the function "
    "in tf.numpy_function. Penstock calls the function itself for every element.",
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
    libraries=("tensorflow", "jax"),
    hints=("random", r"Dataset|\bfunction\b|jit"),
    sources=("https://www.tensorflow.org/guide/function#executing_python_side_effects",),
)
