"""Arguments whose shape is another one in every round: compiled again each time."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.loops import Loop, few
from penstock.doctor.lint.module import constant
from penstock.doctor.lint.rule import Hit, Rule
from penstock.doctor.lint.rules.psk104_retracing_by_numbers import FEW
from penstock.doctor.lint.tracing import counted_calls, counts, rounds

JOINS = frozenset(["jax.numpy.concatenate", "jax.numpy.hstack", "np.concatenate", "np.hstack", "tf.concat"])


def check(facts: Facts) -> Iterator[Hit]:
    """Calls of compiled functions in a loop with a slice such as `x[:i]`."""
    for call, found, loop in counted_calls(facts):
        if found.option("input_signature") is not None or found.option("reduce_retracing") is not None:
            continue
        if few(facts, loop) or (rounds(facts, loop) or FEW) < FEW:
            continue
        name = "tf.function" if found.library == "tf" else "jit"
        for one in [*call.args, *(word.value for word in call.keywords)]:
            if (isinstance(one, ast.Subscript) and _grows(facts, one.slice, loop)) or _longer(
                facts, one, loop
            ):
                yield one, f"`{ast.unparse(one)}` has another shape in every round: {name} compiles for each"
                break


def _longer(facts: Facts, node: ast.expr, loop: Loop) -> bool:
    """Whether the loop makes a longer array of the one before: `x = concatenate([x, more])`."""
    if not isinstance(node, ast.Name):
        return False
    inside = [one for one in facts.definitions(node) if facts.within(one.node, loop)]
    return bool(inside) and all(
        isinstance(one.value, ast.Call)
        and facts.called(one.value) in JOINS
        and isinstance(parts := one.value.args[0] if one.value.args else None, (ast.List, ast.Tuple))
        and any(isinstance(part, ast.Name) and one in facts.definitions(part) for part in parts.elts)
        for one in inside
    )


def _grows(facts: Facts, node: ast.expr, loop: Loop) -> bool:
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    for one in parts:
        if isinstance(one, ast.Slice) and one.step is None:
            ends = [one.lower, one.upper]
            moving = [end for end in ends if end is not None and counts(facts, end, loop)]
            still = [end for end in ends if end is None or isinstance(constant(end), int)]
            if len(moving) == 1 and len(still) == 1:
                return True
    return False


RULE = Rule(
    code="PSK105",
    name="growing-shapes",
    level="error",
    title="compiled again for every shape",
    why="Compiled functions are kept one for each shape of their arguments. A slice that grows with the "
    "loop gives a new shape, a new compilation and another kept program at every step.",
    fix="Pad to one length (or to a few), or pass the whole array and the position as an array. "
    "tf.function also takes reduce_retracing=True or an input_signature with None for the length.",
    bad="""\
import jax


@jax.jit
def score(tokens):
    return tokens.sum()


def decode(tokens, length):
    for end in range(length):
        score(tokens[:end])
""",
    good="""\
import jax


@jax.jit
def score(tokens, end):
    return (tokens * (jax.numpy.arange(tokens.shape[0]) < end)).sum()


def decode(tokens, length):
    for end in range(length):
        score(tokens, end)
""",
    check=check,
    libraries=("tensorflow", "jax"),
    hints=(r"\bfunction\b|jit", r"\[[^\]\n]*:|concat|hstack"),
    sources=(
        "https://docs.jax.dev/en/latest/jit-compilation.html",
        "https://www.tensorflow.org/guide/function",
    ),
)
