"""Symbols of a trace that are kept outside of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.flow import Function
from penstock.doctor.lint.loops import root
from penstock.doctor.lint.rule import Hit, Rule
from penstock.doctor.lint.tracing import traced_def


def check(facts: Facts) -> Iterator[Hit]:
    """`outer.append(x)` in a function that is traced, where `x` is computed in it."""
    for made, tool in _traced(facts):
        scope = facts.flow.scopes[made]
        for node in facts.inside(made):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            if node.func.attr != "append" or len(node.args) != 1:
                continue
            name = root(node.func.value)
            own = name in scope.definitions and not (
                name == "self" and isinstance(node.func.value, ast.Attribute)
            )
            if name and not own and _computed(facts, node.args[0], made):
                yield (
                    node,
                    f"`{ast.unparse(node.func.value)}` keeps a symbol of the trace of {tool}, not a value",
                )


def _traced(facts: Facts) -> Iterator[tuple[Function, str]]:
    for node in facts.nodes:
        if isinstance(node, ast.FunctionDef) and (found := traced_def(facts, node)):
            yield node, "tf.function" if found.library == "tf" else "jit"
    for chain in facts.whole:
        for step in chain.steps if chain.library == "tf" else ():
            function = (
                step.argument("map_func", 0) if step.name in {"map", "flat_map", "interleave"} else None
            )
            made = facts.function(function) if function is not None else None
            if made is not None:
                yield made, f"{step.name}()"


def _computed(facts: Facts, node: ast.expr, made: Function) -> bool:
    """Whether a value surely comes from the tensors of the trace: a parameter, or made of one."""
    if isinstance(node, ast.Name):
        return any(one.kind == "parameter" for one in facts.definitions(node)) or any(
            facts.called(one).startswith(("tf.", "jax.numpy.")) for one, _ in facts.origins(node)
        )
    if isinstance(node, ast.Call):
        return facts.called(node).startswith(("tf.", "jax.numpy."))
    if isinstance(node, ast.BinOp):
        return _computed(facts, node.left, made) or _computed(facts, node.right, made)
    return False


RULE = Rule(
    code="PSK106",
    name="tensor-leaves-trace",
    level="error",
    title="a traced tensor is kept outside of its function",
    why="The body runs once for each trace, with symbols. Appending one to an outer list keeps the whole "
    "graph alive, gives no value a step, and fails when the symbol is used.",
    fix="Return the value, and keep what the call gives.",
    bad="""\
import tensorflow as tf

losses = []


@tf.function
def train_step(x):
    loss = tf.reduce_mean(x)
    losses.append(loss)
    return loss
""",
    good="""\
import tensorflow as tf


@tf.function
def train_step(x):
    return tf.reduce_mean(x)


def train(batches):
    return [float(train_step(x)) for x in batches]
""",
    check=check,
    libraries=("tensorflow", "jax"),
    hints=(r"\.append\(", r"\bfunction\b|jit|Dataset"),
    sources=("https://docs.jax.dev/en/latest/errors.html#jax.errors.UnexpectedTracerError",),
)
