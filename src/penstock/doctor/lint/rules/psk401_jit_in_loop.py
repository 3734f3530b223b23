"""`jax.jit` of a function that is made in the loop: compiled in every round."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.kept import made_again, only_called
from penstock.doctor.lint.rule import Hit, Rule
from penstock.doctor.lint.tracing import TRACERS, inside_traced, traced_def

NEW = frozenset(
    [
        "functools.partial",
        "jax.grad",
        "jax.value_and_grad",
        "jax.vmap",
        "jax.jacfwd",
        "jax.jacrev",
        "jax.hessian",
    ]
)


def check(facts: Facts) -> Iterator[Hit]:
    """`jit` of a lambda, a partial or an inner function in a loop that only calls what it has made."""
    for node in facts.nodes:
        if isinstance(node, ast.Call) and TRACERS.get(facts.called(node)) == "jax" and node.args:
            loop = made_again(facts, node)
            if loop is None or inside_traced(facts, node) or not _new(facts, node.args[0], loop):
                continue
            above = facts.parents[node]
            called = isinstance(above, ast.Call) and above.func is node
            if isinstance(above, ast.Assign) and isinstance(above.targets[0], ast.Name):
                called = only_called(facts, above.targets[0].id, above.targets[0], loop)
            if called:
                yield node, "jit of a function that is new in every round: it is compiled again each time"
        elif (
            isinstance(node, ast.FunctionDef)
            and (found := traced_def(facts, node))
            and found.library == "jax"
        ):
            loop = made_again(facts, node)
            if (
                loop is not None
                and not inside_traced(facts, loop)
                and only_called(facts, node.name, node, loop)
            ):
                yield (
                    node,
                    f"`{node.name}` is new in every round of a loop: jit compiles it again each time",
                )


def _new(facts: Facts, node: ast.expr, loop: ast.AST) -> bool:
    """Whether the function is another object in every round."""
    if isinstance(node, ast.Lambda) or facts.called(node) in NEW:
        return True
    if isinstance(node, ast.Name):
        found = facts.definitions(node)
        if found and all(
            one.kind == "assign" and facts.within(one.node, loop) and one.value is not None for one in found
        ):
            return all(one.value is not None and facts.called(one.value) in NEW for one in found)
    made = facts.function(node)
    return made is not None and facts.within(made, loop)


RULE = Rule(
    code="PSK401",
    name="jit-in-loop",
    level="error",
    title="jit of a function made in a loop",
    why="JAX keeps compiled programs by the function they were made of. A lambda, a partial or an inner "
    "function is a new one in every round: each is compiled again, and the programs pile up.",
    fix="Make the jitted function once, before the loop, and pass what changes as arguments.",
    bad="""\
import jax


def solve(x, rates):
    for rate in rates:
        x = jax.jit(lambda v: v - rate * v)(x)
    return x
""",
    good="""\
import jax


@jax.jit
def step(v, rate):
    return v - rate * v


def solve(x, rates):
    for rate in rates:
        x = step(x, rate)
    return x
""",
    check=check,
    libraries=("jax",),
    hints=("jit|pmap",),
    sources=("https://github.com/jax-ml/jax/issues/9288", "https://github.com/jax-ml/jax/issues/282"),
)
