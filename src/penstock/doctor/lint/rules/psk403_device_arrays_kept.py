"""JAX arrays of the device kept one a step, for the whole training."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.kept import appended, older
from penstock.doctor.lint.loops import loops
from penstock.doctor.lint.rule import Hit, Rule
from penstock.doctor.lint.tracing import inside_traced, traced


def check(facts: Facts) -> Iterator[Hit]:
    """`losses.append(loss)` over all epochs, for a loss that a compiled step gave."""
    for kept in appended(facts):
        name = kept.item
        if not isinstance(name, ast.Name) or "loss" not in name.id.lower() or inside_traced(facts, name):
            continue
        if not older(facts, kept.container, kept.outermost) or len(list(loops(facts, kept.call))) < 2:
            continue
        found = facts.definitions(name)
        if (
            found
            and all(_step(facts, one.value) and facts.within(one.node, kept.loop) for one in found)
            and not _gathered(facts, kept.container)
        ):
            yield (
                kept.call,
                f"`{ast.unparse(kept.container)}` keeps an array of the device for every step",
            )


def _step(facts: Facts, value: ast.expr | None) -> bool:
    """Whether a value comes from a compiled function of JAX, or from `value_and_grad`."""
    if not isinstance(value, ast.Call):
        return False
    found = traced(facts, value.func)
    if found is not None:
        return found.library == "jax"
    return any(facts.called(one) == "jax.value_and_grad" for one, _ in facts.origins(value.func))


def _gathered(facts: Facts, container: ast.expr) -> bool:
    """Whether something takes the list as a whole: it is brought to the host, or handed on."""
    text = ast.unparse(container)
    return any(
        any(ast.unparse(one) == text for one in call.args)
        and not facts.called(call).startswith(("builtins.len", "builtins.print", "np.mean", "builtins.sum"))
        for call in facts.calls
    )


RULE = Rule(
    code="PSK403",
    name="device-arrays-kept",
    level="note",
    title="device arrays kept for every step",
    why="Each kept array is a buffer of its own on the device and a Python object, for a number of four "
    "bytes. Over all steps of all epochs they add up, and split device memory into pieces.",
    fix="Append float(loss), or gather an epoch's losses with jax.device_get() at its end.",
    bad="""\
import jax


@jax.jit
def step(params, x):
    return (params * x).mean()


def train(params, batches, epochs):
    losses = []
    for epoch in range(epochs):
        for x in batches:
            loss = step(params, x)
            losses.append(loss)
    return losses
""",
    good="""\
import jax


@jax.jit
def step(params, x):
    return (params * x).mean()


def train(params, batches, epochs):
    losses = []
    for epoch in range(epochs):
        for x in batches:
            loss = step(params, x)
            losses.append(float(loss))
    return losses
""",
    check=check,
    libraries=("jax",),
    hints=(r"\.append\(", "jit|value_and_grad"),
    sources=("https://docs.jax.dev/en/latest/device_memory_profiling.html",),
)
