"""`model.predict` for one item at a time."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.kept import made_again
from penstock.doctor.lint.models import makes_model, model_definitions
from penstock.doctor.lint.module import constant
from penstock.doctor.lint.rule import Hit, Rule


def check(facts: Facts) -> Iterator[Hit]:
    """`predict` of a Keras model in a loop, with what is surely a batch of one."""
    for call in facts.calls:
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "predict" or not call.args:
            continue
        loop = made_again(facts, call)
        if loop is None:
            continue
        model = call.func.value
        found = model_definitions(facts, model)
        if (
            (found or (isinstance(model, ast.Attribute) and makes_model(facts, model)))
            and not any(facts.within(one.node, loop) for one in found)
            and _single(facts, call.args[0], loop)
        ):
            yield call, "predict() for one item at a time: each call sets up a whole prediction run"


def _single(facts: Facts, node: ast.expr, loop: ast.AST) -> bool:
    """Whether an expression is one item with a batch axis put before it."""
    if isinstance(node, ast.Name):
        inside = [one for one in facts.definitions(node) if facts.within(one.node, loop)]
        if len(inside) != 1 or inside[0].kind != "assign" or inside[0].value is None:
            return False
        node = inside[0].value
    if isinstance(node, ast.Call):
        name = facts.called(node)
        if name in {"np.expand_dims", "tf.expand_dims"}:
            axis = (
                node.args[1]
                if len(node.args) > 1
                else next((k.value for k in node.keywords if k.arg == "axis"), None)
            )
            return constant(axis) == 0
        if name in {"np.array", "np.asarray", "tf.constant"} and node.args:
            return isinstance(node.args[0], ast.List) and len(node.args[0].elts) == 1
        if isinstance(node.func, ast.Attribute) and node.func.attr == "reshape" and node.args:
            sides = node.args[0].elts if isinstance(node.args[0], ast.Tuple) else node.args
            return constant(sides[0]) == 1 and len(sides) > 1
    if isinstance(node, ast.Subscript):
        first = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
        if (
            isinstance(first, ast.Slice)
            and isinstance(first.lower, ast.Name)
            and isinstance(first.upper, ast.BinOp)
        ):
            return ast.unparse(first.upper) == f"{first.lower.id} + 1"
        return constant(first) is None or facts.name(first) in {"np.newaxis", "tf.newaxis"}
    return False


RULE = Rule(
    code="PSK302",
    name="predict-in-loop",
    level="warning",
    title="predict() for one item at a time",
    why="`predict` is made for whole data sets: each call builds a pipeline, callbacks and a progress bar "
    "around one item. Older versions of Keras also leaked a little at each call.",
    fix="Predict for all items at once, or call model(x, training=False) in the loop.",
    bad="""\
import keras
import numpy as np

model = keras.models.load_model("model.keras")


def score(images):
    for image in images:
        print(model.predict(np.expand_dims(image, 0)))
""",
    good="""\
import keras
import numpy as np

model = keras.models.load_model("model.keras")


def score(images):
    for row in model.predict(np.stack(images)):
        print(row)
""",
    check=check,
    libraries=("tensorflow", "keras", "tf_keras"),
    hints=(r"\.predict\(",),
    sources=("https://github.com/keras-team/keras/issues/13118",),
)
