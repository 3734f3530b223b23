"""`tf.function` made in a loop: traced in every round."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.kept import made_again, named, only_called, uses
from penstock.doctor.lint.loops import loops
from penstock.doctor.lint.module import word
from penstock.doctor.lint.rule import Hit, Rule
from penstock.doctor.lint.tracing import traced_def

SUBSTITUTE = "experimental_implements"
"""The option of a function that stands for one operation of a converted model, and is traced for that."""


def check(facts: Facts) -> Iterator[Hit]:
    """`tf.function(f)`, or a decorated `def`, in a loop that only calls what it has made."""
    for node in facts.nodes:
        if (
            isinstance(node, ast.Call)
            and facts.called(node) == "tf.function"
            and node.args
            and word(node, SUBSTITUTE) is None
        ):
            loop = made_again(facts, node)
            if loop is not None and _called_only(facts, node, loop):
                yield node, "tf.function() in a loop: every round traces the function again"
        elif isinstance(node, ast.FunctionDef):
            found, loop = traced_def(facts, node), made_again(facts, node)
            if (
                found
                and found.library == "tf"
                and found.option(SUBSTITUTE) is None
                and loop is not None
                and only_called(facts, node.name, node, loop)
                and not _each_epoch(facts, node, loop)
            ):
                yield (
                    node,
                    f"`{node.name}` is a new tf.function in every round of a loop: it is traced again",
                )


def _each_epoch(facts: Facts, made: ast.FunctionDef, loop: ast.AST) -> bool:
    """Whether an inner loop calls it, and it is made of what the outer one sets: new for every epoch."""
    free = [
        one
        for node in ast.walk(made)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        for one in facts.definitions(node)
        if facts.within(one.node, loop) and not facts.within(one.node, made)
    ]
    called = uses(facts, made.name, made, loop)
    return bool(free) and all(next(iter(loops(facts, one)), loop) is not loop for one in called)


def _called_only(facts: Facts, node: ast.Call, loop: ast.AST) -> bool:
    above = facts.parents[node]
    if isinstance(above, ast.Call) and above.func is node:
        return True
    target = named(facts, node)
    return target is not None and only_called(facts, target.id, target, loop)


RULE = Rule(
    code="PSK101",
    name="function-in-loop",
    level="warning",
    title="tf.function made in a loop",
    why="Every `tf.function` has its own traces. Made in a loop it is traced in every round, which costs "
    "far more than the call, and graphs pile up until Python collects them.",
    fix="Make the tf.function once, before the loop, and pass what changes as tensors.",
    bad="""\
import tensorflow as tf


def train(batches, step):
    for x in batches:
        run = tf.function(step)
        run(x)
""",
    good="""\
import tensorflow as tf


def train(batches, step):
    run = tf.function(step)
    for x in batches:
        run(x)
""",
    check=check,
    libraries=("tensorflow",),
    hints=(r"\bfunction\b",),
    sources=("https://www.tensorflow.org/guide/function#controlling_retracing",),
)
