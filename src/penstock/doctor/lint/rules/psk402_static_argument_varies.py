"""A static argument that is another one in every round."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.loops import few
from penstock.doctor.lint.module import constant
from penstock.doctor.lint.rule import Hit, Rule
from penstock.doctor.lint.rules.psk104_retracing_by_numbers import FEW
from penstock.doctor.lint.tracing import Traced, counted_calls, counts, rounds


def check(facts: Facts) -> Iterator[Hit]:
    """Calls of a jitted function in a loop, with the number of the round in a static place."""
    for call, found, loop in counted_calls(facts):
        if found.library != "jax" or few(facts, loop) or (rounds(facts, loop) or FEW) < FEW:
            continue
        for one in _static(call, found):
            if counts(facts, one, loop):
                yield one, f"`{ast.unparse(one)}` is a static argument: jit compiles again for each value"
                break


def _static(call: ast.Call, found: Traced) -> Iterator[ast.expr]:
    """The arguments of a call in places that are static."""
    places = {one for one in _constants(found.option("static_argnums")) if isinstance(one, int)}
    names = {one for one in _constants(found.option("static_argnames")) if isinstance(one, str)}
    order = [one.arg for one in found.body.args.args] if found.body is not None else []
    places |= {order.index(name) for name in names if name in order}
    names |= {order[place] for place in places if 0 <= place < len(order)}
    shift = 1 if isinstance(call.func, ast.Attribute) and order[:1] == ["self"] else 0
    yield from (one for place, one in enumerate(call.args) if place + shift in places)
    yield from (one.value for one in call.keywords if one.arg in names)


def _constants(node: ast.expr | None) -> list[object]:
    if isinstance(node, (ast.Tuple, ast.List)):
        return [constant(one) for one in node.elts]
    return [constant(node)] if node is not None else []


RULE = Rule(
    code="PSK402",
    name="static-argument-varies",
    level="error",
    title="a static argument that varies",
    why="A static argument is part of the program: for each value JAX compiles another one and keeps it. "
    "A step counter in such a place means compiling at every step, and memory that grows.",
    fix="Make the argument an ordinary one; use lax.cond or lax.fori_loop for what depends on it.",
    bad="""\
from functools import partial
import jax


@partial(jax.jit, static_argnums=(1,))
def step(x, number):
    return x * number


def train(x, steps):
    for number in range(steps):
        x = step(x, number)
    return x
""",
    good="""\
import jax


@jax.jit
def step(x, number):
    return x * number


def train(x, steps):
    for number in range(steps):
        x = step(x, number)
    return x
""",
    check=check,
    libraries=("jax",),
    hints=("static_arg",),
    sources=("https://github.com/mlaux1/rl-blox/pull/157",),
)
