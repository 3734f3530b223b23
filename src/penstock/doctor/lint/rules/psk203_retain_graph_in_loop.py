"""`retain_graph=True` where nothing goes back through the graph a second time."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.autograd import backwards
from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.loops import Loop, repeated
from penstock.doctor.lint.module import constant, word
from penstock.doctor.lint.rule import Hit, Rule


def check(facts: Facts) -> Iterator[Hit]:
    """The only `backward` of a loop, with `retain_graph=True`, on a loss that the loop itself computes."""
    for call, name in backwards(facts):
        if constant(word(call, "retain_graph")) is not True:
            continue
        loop = repeated(facts, call)
        if loop is None or _others(call, loop):
            continue
        found = facts.definitions(name)
        if found and all(_fresh(facts, one.value, loop, 6) and facts.within(one.node, loop) for one in found):
            yield (
                call,
                "retain_graph=True, but nothing goes back through this graph again: it only holds memory",
            )


def _others(call: ast.Call, loop: Loop) -> bool:
    """Whether the loop asks for gradients in another place too."""
    for node in ast.walk(loop):
        if (
            isinstance(node, ast.Call)
            and node is not call
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in {"backward", "manual_backward", "grad"}
        ):
            return True
    return False


def _fresh(facts: Facts, node: ast.expr | None, loop: Loop, depth: int) -> bool:
    """Whether a value is computed from what the loop itself makes, or carries on."""
    if node is None or depth <= 0:
        return False
    for one in ast.walk(node):
        if not isinstance(one, ast.Name) or not isinstance(one.ctx, ast.Load):
            continue
        above = facts.parents[one]
        if isinstance(above, ast.Call) and above.func is one:
            continue
        user = facts.parents[above]
        if isinstance(above, ast.Attribute) and isinstance(user, ast.Call) and user.func is above:
            continue  # a module or an object whose method is called
        found = facts.definitions(one)
        inside = [made for made in found if facts.within(made.node, loop)]
        if any(made.kind == "import" for made in found):
            continue
        if not inside:
            return False
        for made in inside:
            if made.kind != "loop" and not _fresh(facts, made.value, loop, depth - 1):
                return False
    return True


RULE = Rule(
    code="PSK203",
    name="retain-graph-in-loop",
    level="warning",
    title="retain_graph=True in a loop",
    why="After `backward` torch frees what the graph has saved. `retain_graph=True` keeps it, for a "
    "second `backward` that this loop does not do. Where it hides an error, the graphs of all steps "
    "hang together and none is freed.",
    fix="Leave it out. If torch then says that it goes back a second time, a tensor is carried from one "
    "step to the next: detach() it.",
    bad="""\
import torch


def train(loader, model, criterion, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward(retain_graph=True)
        optimizer.step()
""",
    good="""\
import torch


def train(loader, model, criterion, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
""",
    check=check,
    libraries=("torch",),
    hints=("retain_graph",),
    sources=("https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html",),
)
