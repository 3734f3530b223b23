"""`backward(create_graph=True)` makes a cycle of parameter and gradient."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.doctor.lint.autograd import backwards
from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.loops import loops
from penstock.doctor.lint.module import constant, word
from penstock.doctor.lint.rule import Hit, Rule


def check(facts: Facts) -> Iterator[Hit]:
    """`backward(create_graph=True)` in a loop."""
    for call, _ in backwards(facts):
        if constant(word(call, "create_graph")) is True and next(iter(loops(facts, call)), None) is not None:
            yield (
                call,
                "backward(create_graph=True) ties each parameter and its gradient into a cycle that leaks",
            )


RULE = Rule(
    code="PSK204",
    name="create-graph",
    level="error",
    title="backward(create_graph=True) in a loop",
    why="The gradient that `backward` stores in a parameter then has a graph that refers to the "
    "parameter: a cycle that Python's collector may not see. torch itself warns of the leak.",
    fix="Use torch.autograd.grad(loss, parameters, create_graph=True), which stores nothing; or set the "
    "gradients to None after each step.",
    bad="""\
import torch


def penalise(batches, model, criterion):
    for x, y in batches:
        loss = criterion(model(x), y)
        loss.backward(create_graph=True)
""",
    good="""\
import torch


def penalise(batches, model, criterion):
    for x, y in batches:
        loss = criterion(model(x), y)
        grads = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
""",
    check=check,
    libraries=("torch",),
    hints=("create_graph",),
    sources=("https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html",),
)
