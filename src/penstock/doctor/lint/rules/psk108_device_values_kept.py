"""Losses kept as tensors of the device, one a step."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.kept import appended, older
from penstock.doctor.lint.rule import Hit, Rule


def check(facts: Facts) -> Iterator[Hit]:
    """`losses.append(loss)` over the whole training, for a loss that a tape is asked about."""
    asked = [
        call.args[0]
        for call in facts.calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == "gradient" and len(call.args) > 1
    ]
    for kept in appended(facts):
        if not isinstance(kept.item, ast.Name) or not older(facts, kept.container, kept.outermost):
            continue
        if _reduced(facts, kept.container):
            continue
        found = facts.definitions(kept.item)
        for one in asked:
            if (
                isinstance(one, ast.Name)
                and found
                and found == facts.definitions(one)
                and _tape(facts, kept.item)
            ):
                yield (
                    kept.call,
                    f"`{ast.unparse(kept.container)}` keeps a tensor of the device for every step",
                )
                break


def _reduced(facts: Facts, container: ast.expr) -> bool:
    """Whether a function makes one tensor of its own list: `tf.reduce_mean(losses)`."""
    if not isinstance(container, ast.Name) or facts.maker(container) is facts.tree:
        return False
    return any(
        facts.called(call).startswith("tf.")
        and any(isinstance(one, ast.Name) and one.id == container.id for one in call.args)
        for call in facts.inside(facts.maker(container))
        if isinstance(call, ast.Call)
    )


def _tape(facts: Facts, node: ast.Name) -> bool:
    """Whether a value was made under a `tf.GradientTape`."""
    for made in facts.definitions(node):
        for above in facts.ancestors(made.node):
            if isinstance(above, ast.With) and any(
                facts.called(item.context_expr) == "tf.GradientTape" for item in above.items
            ):
                return True
    return False


RULE = Rule(
    code="PSK108",
    name="device-values-kept",
    level="warning",
    title="losses kept as tensors",
    why="Each kept loss is a tensor of its own on the device, with its Python object: about a kilobyte a "
    "step for a number of four bytes, and fragments of device memory that cannot be joined.",
    fix="Keep float(loss), or a running mean such as keras.metrics.Mean.",
    bad="""\
import tensorflow as tf


def train(ds, model, optimizer, loss_of):
    losses = []
    for x, y in ds:
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x))
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        losses.append(loss)
    return losses
""",
    good="""\
import tensorflow as tf


def train(ds, model, optimizer, loss_of):
    losses = []
    for x, y in ds:
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x))
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        losses.append(float(loss))
    return losses
""",
    check=check,
    libraries=("tensorflow",),
    hints=("GradientTape", r"\.append\("),
    sources=("https://github.com/tensorflow/tensorflow/issues/34606",),
)
