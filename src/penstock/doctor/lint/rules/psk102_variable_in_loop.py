"""`tf.Variable` made in every round of a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.graphmode import adds_to_graph, graph_mode
from penstock.doctor.lint.loops import loops, repeated
from penstock.doctor.lint.rule import Hit, Rule
from penstock.doctor.lint.rules.psk103_graph_ops_in_loop import runs_session

USES = frozenset(
    [
        "gradient",
        "apply_gradients",
        "assign",
        "assign_add",
        "assign_sub",
        "watch",
        "minimize",
        "jacobian",
        "numpy",
    ]
)


def check(facts: Facts) -> Iterator[Hit]:
    """Variables made in a loop and used there only; those that something keeps are layers being built."""
    in_graph = graph_mode(facts)
    for call in facts.calls:
        if facts.called(call) not in {"tf.Variable", "tf1.Variable"}:
            continue
        loop = repeated(facts, call)
        above = facts.parents[call]
        if loop is None or not isinstance(above, ast.Assign) or not isinstance(above.targets[0], ast.Name):
            continue
        if in_graph or "tf1." in facts.called(call):
            if not any(runs_session(facts, one) for one in loops(facts, call)):
                continue  # a graph is being built
        elif not _stays(facts, above.targets[0], loop):
            continue
        yield call, f"`{above.targets[0].id}` is a new tf.Variable in every round of this loop"


def _stays(facts: Facts, target: ast.Name, loop: ast.AST) -> bool:
    """Whether nothing keeps the variable: it is only computed with."""
    for node in ast.walk(loop):
        if not isinstance(node, ast.Name) or node.id != target.id or not isinstance(node.ctx, ast.Load):
            continue
        above = facts.parents[node]
        while isinstance(above, (ast.Tuple, ast.List, ast.Starred, ast.keyword)):
            above = facts.parents[above]
        if isinstance(above, ast.Call) and above.func is not node:
            name = facts.called(above)
            method = above.func.attr if isinstance(above.func, ast.Attribute) else ""
            if not (adds_to_graph(name) or method in USES or name in {"builtins.zip", "builtins.print"}):
                return False
        elif not isinstance(above, (ast.Attribute, ast.BinOp, ast.Delete)):
            return False
    scope = facts.maker(loop)
    outside = [one for one in ast.walk(scope) if isinstance(one, ast.Name) and one.id == target.id]
    return not any(isinstance(one.ctx, ast.Load) and not facts.within(one, loop) for one in outside)


RULE = Rule(
    code="PSK102",
    name="variable-in-loop",
    level="warning",
    title="tf.Variable made in a loop",
    why="A variable is state that is meant to last. Each round allocates another one on the device; "
    "functions that capture it are traced again, and in graph mode none is ever freed.",
    fix="Make the variable once, before the loop, and use assign(); for a value that changes, a tensor "
    "will do.",
    bad="""\
import tensorflow as tf

for step in range(1000):
    with tf.GradientTape() as tape:
        weights = tf.Variable(tf.random.normal([100, 100]))
        loss = tf.reduce_sum(weights)
    grads = tape.gradient(loss, weights)
""",
    good="""\
import tensorflow as tf

weights = tf.Variable(tf.random.normal([100, 100]))
for step in range(1000):
    weights.assign(tf.random.normal([100, 100]))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(weights)
    grads = tape.gradient(loss, weights)
""",
    check=check,
    libraries=("tensorflow",),
    hints=("Variable",),
    sources=("https://www.tensorflow.org/guide/function#creating_tfvariables",),
)
