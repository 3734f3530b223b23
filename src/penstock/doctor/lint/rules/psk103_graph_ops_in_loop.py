"""Operations added to a graph in the loop that runs it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.graphmode import SESSIONS, adds_to_graph, graph_mode, own_graph
from penstock.doctor.lint.loops import Loop, few, loops, repeated
from penstock.doctor.lint.rule import Hit, Rule


def check(facts: Facts) -> Iterator[Hit]:
    """The first call that adds operations, in each loop that also runs a session on the same graph."""
    seen: set[ast.AST] = set()
    for call in facts.calls:
        if not adds_to_graph(facts.called(call)):
            continue
        loop = next(
            (one for one in loops(facts, call) if not few(facts, one) and runs_session(facts, one)), None
        )
        if loop is None or loop in seen or repeated(facts, call) is None or own_graph(facts, loop):
            continue
        if _over_variables(facts, loop):
            continue
        seen.add(loop)
        yield call, f"{ast.unparse(call.func)}() adds to the graph in every round of a loop that runs it"


def runs_session(facts: Facts, loop: Loop) -> bool:
    """Whether a loop calls `run` of a session."""
    for node in facts.inside(loop):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "run"
            and (_session(facts, node.func.value) or (graph_mode(facts) and _given(facts, node.func.value)))
        ):
            return True
    return False


def _over_variables(facts: Facts, loop: Loop) -> bool:
    """Whether a loop goes over variables of the graph: there are so many and no more."""
    if isinstance(loop, ast.While):
        return False
    over = loop.iter if isinstance(loop, (ast.For, ast.AsyncFor)) else loop.generators[0].iter
    return any(facts.called(one).endswith("_variables") for one, _ in facts.origins(over))


def _session(facts: Facts, node: ast.expr) -> bool:
    return any(facts.called(one) in SESSIONS for one, _ in facts.origins(node))


def _given(facts: Facts, node: ast.expr) -> bool:
    """Whether a name is a parameter that is called like a session."""
    if not isinstance(node, ast.Name) or node.id not in {"sess", "session"}:
        return False
    return all(one.kind == "parameter" for one in facts.definitions(node))


RULE = Rule(
    code="PSK103",
    name="graph-ops-in-loop",
    level="error",
    title="graph operations in a loop",
    why="A graph only grows: what a round adds stays for ever. Each `run` then has a larger graph to "
    "check and prepare, so that the loop takes more memory and gets slower with every step.",
    fix="Build the graph before the loop and feed what changes through placeholders. graph.finalize() "
    "makes TensorFlow raise where something is added.",
    bad="""\
import tensorflow as tf

tf.compat.v1.disable_eager_execution()
with tf.compat.v1.Session() as sess:
    for step in range(10_000):
        x = tf.constant([1.0, 2.0])
        sess.run(tf.square(x))
""",
    good="""\
import tensorflow as tf

tf.compat.v1.disable_eager_execution()
x = tf.compat.v1.placeholder(tf.float32, [2])
y = tf.square(x)
with tf.compat.v1.Session() as sess:
    for step in range(10_000):
        sess.run(y, {x: [1.0, 2.0]})
""",
    check=check,
    libraries=("tensorflow",),
    hints=("Session|disable_eager_execution|disable_v2_behavior",),
    sources=("https://www.tensorflow.org/api_docs/python/tf/Graph#finalize",),
)
