"""Where pipelines are read: loops, `iter`, `list`, and the methods of models that train on them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.module import COMPREHENSIONS, word

FITS = {"fit": "steps_per_epoch", "evaluate": "steps", "predict": "steps", "fit_generator": "steps_per_epoch"}
PASSES = frozenset(["builtins.enumerate", "tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.notebook.tqdm"])
VIEWS = frozenset(["as_numpy_iterator", "as_torch", "as_jax", "as_tensorflow", "iterate"])
"""Methods of a dataset that give its elements one after another."""


def looped(facts: Facts, node: ast.expr) -> ast.expr:
    """What is really iterated over in `enumerate(x)` or `tqdm(x)`."""
    while isinstance(node, ast.Call) and facts.called(node) in PASSES and node.args:
        node = node.args[0]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in VIEWS:
        return node.func.value
    return node


def loops_over(facts: Facts) -> Iterator[tuple[ast.expr, ast.AST]]:
    """Every expression that a loop goes over, with the loop."""
    for node in facts.nodes:
        if isinstance(node, (ast.For, ast.AsyncFor)):
            yield looped(facts, node.iter), node
        elif isinstance(node, COMPREHENSIONS):
            for clause in node.generators:
                yield looped(facts, clause.iter), node


def fits(facts: Facts) -> Iterator[tuple[ast.expr, ast.Call, str]]:
    """What models are trained or tried on: the dataset, the call, and the argument that counts its steps."""
    for call in facts.calls:
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in FITS:
            continue
        steps = FITS[call.func.attr]
        if (given := word(call, "x", 0)) is not None:
            yield given, call, steps
        if call.func.attr == "fit" and (held := word(call, "validation_data")) is not None:
            yield held, call, "validation_steps"


def readers(facts: Facts) -> Iterator[ast.expr]:
    """Every expression that is read as a dataset is."""
    for node, _ in loops_over(facts):
        yield node
    for node, _, _ in fits(facts):
        yield node
    for call in facts.calls:
        if facts.called(call) in {"builtins.iter", "builtins.list"} and len(call.args) == 1:
            yield looped(facts, call.args[0])
