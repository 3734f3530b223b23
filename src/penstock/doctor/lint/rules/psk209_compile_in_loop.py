"""`torch.compile` in a loop."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.loops import repeated, same_each_round
from penstock.doctor.lint.rule import Hit, Rule


def check(facts: Facts) -> Iterator[Hit]:
    """`torch.compile(model)` in a loop, of the same model each time."""
    for call in facts.calls:
        if facts.called(call) == "torch.compile" and call.args:
            loop = repeated(facts, call)
            if loop is not None and same_each_round(facts, call, loop, ("torch.", "builtins.")):
                yield call, "torch.compile() in a loop: every round wraps and checks the model again"


RULE = Rule(
    code="PSK209",
    name="compile-in-loop",
    level="warning",
    title="torch.compile in a loop",
    why="Each call gives a new wrapper with guards and caches of its own. Past the limit of "
    "recompilations torch gives up and runs without compiling.",
    fix="Compile once, before the loop.",
    bad="""\
import torch


def train(loader, model):
    for x in loader:
        fast = torch.compile(model)
        fast(x)
""",
    good="""\
import torch


def train(loader, model):
    fast = torch.compile(model)
    for x in loader:
        fast(x)
""",
    check=check,
    libraries=("torch",),
    hints=(r"compile\(",),
    sources=("https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html",),
)
