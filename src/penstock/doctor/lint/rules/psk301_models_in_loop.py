"""Keras models built and trained in a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.loops import loops, repeated
from penstock.doctor.lint.models import model_definitions
from penstock.doctor.lint.rule import Hit, Rule

TRAINS = frozenset(["fit", "train_on_batch", "fit_generator"])


def check(facts: Facts) -> Iterator[Hit]:
    """`fit` of a model that the same loop builds, with no `clear_session()` in it."""
    seen: set[ast.AST] = set()
    for call in facts.calls:
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in TRAINS:
            continue
        found = model_definitions(facts, call.func.value)
        for loop in loops(facts, call):
            built = [one.node for one in found if facts.within(one.node, loop)]
            if not built or len(built) != len(found) or loop in seen or _cleared(facts, loop):
                continue
            if repeated(facts, built[0]) is not loop or _kept(facts, call.func.value, loop):
                continue
            seen.add(loop)
            yield (
                facts.statement(built[0]),
                "a model is built and trained in every round, and nothing clears the session",
            )


def _kept(facts: Facts, model: ast.expr, loop: ast.AST) -> bool:
    """Whether the loop keeps the models, as an ensemble does: clearing the session would be wrong."""
    name = ast.unparse(model)
    for node in ast.walk(loop):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            above = facts.parents[node]
            if isinstance(above, (ast.Assign, ast.List, ast.Tuple, ast.Dict, ast.Yield, ast.Return)):
                return True
            if (
                isinstance(above, ast.Call)
                and isinstance(above.func, ast.Attribute)
                and above.func.attr == "append"
            ):
                return True
    return False


def _cleared(facts: Facts, loop: ast.AST) -> bool:
    for node in ast.walk(loop):
        if isinstance(node, ast.Call):
            name = facts.called(node) or ast.unparse(node.func)
            if name.rsplit(".", 1)[-1] in {"clear_session", "reset_default_graph", "Process", "Pool"}:
                return True
            local = facts.function(node.func)
            if local is not None and "clear_session" in ast.dump(local):
                return True
    return False


RULE = Rule(
    code="PSK301",
    name="models-in-loop",
    level="error",
    title="models built and fitted in a loop",
    why="Keras and TensorFlow keep state for every model that was ever trained: names, graphs, gradient "
    "functions. The model dies, about 2 MB a model stay.",
    fix="Call keras.backend.clear_session() at the start of each round. What TensorFlow's gradient "
    "registry keeps goes only with the process: for many models, train each in one of its own.",
    bad="""\
import keras


def search(sizes, x, y):
    for size in sizes:
        model = keras.Sequential([keras.layers.Dense(size), keras.layers.Dense(1)])
        model.compile(loss="mse")
        model.fit(x, y)
""",
    good="""\
import keras


def search(sizes, x, y):
    for size in sizes:
        keras.backend.clear_session()
        model = keras.Sequential([keras.layers.Dense(size), keras.layers.Dense(1)])
        model.compile(loss="mse")
        model.fit(x, y)
""",
    check=check,
    libraries=("tensorflow", "keras", "tf_keras"),
    hints=(r"\.(fit|train_on_batch|fit_generator)\(",),
    sources=(
        "https://github.com/keras-team/keras/issues/20245",
        "https://github.com/tensorflow/tensorflow/issues/43702",
    ),
)
