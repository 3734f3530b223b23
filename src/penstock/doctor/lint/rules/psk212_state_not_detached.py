"""A state carried from batch to batch with the graphs of all batches before."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.autograd import backwards, grad_off
from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.loops import loops, repeated
from penstock.doctor.lint.rule import Hit, Rule


def check(facts: Facts) -> Iterator[Hit]:
    """`out, state = model(x, state)` in a loop that calls `backward` and never detaches the state."""
    trained = {
        loop: name
        for call, name in backwards(facts)
        if (loop := next(iter(loops(facts, call)), None)) is not None
    }
    for node in facts.nodes:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call) or len(node.targets) != 1:
            continue
        loop, target = repeated(facts, node), node.targets[0]
        if loop not in trained or not isinstance(target, ast.Tuple) or grad_off(facts, node):
            continue
        given = {one.id: one for one in node.value.args if isinstance(one, ast.Name)}
        out = target.elts[0]
        if not isinstance(out, ast.Name) or out.id in given or not _in_loss(facts, out, trained[loop]):
            continue
        for one in target.elts[1:]:
            if isinstance(one, ast.Name) and one.id in given and _carried(facts, one, given[one.id], loop):
                yield node, f"`{one.id}` carries the graphs of all batches before into the next one"


def _in_loss(facts: Facts, out: ast.Name, loss: ast.Name, depth: int = 3) -> bool:
    """Whether a loss is computed from an output."""
    for made in facts.definitions(loss):
        for node in ast.walk(made.value) if made.value is not None and depth else ():
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                if any(one.node is out for one in facts.definitions(node)):
                    return True
                if facts.definitions(node) != facts.definitions(loss) and _in_loss(
                    facts, out, node, depth - 1
                ):
                    return True
    return False


def _carried(facts: Facts, out: ast.Name, given: ast.Name, loop: ast.AST) -> bool:
    """Whether what comes in is what went out in the round before, as it was: no line in between sets it."""
    found = facts.definitions(given)
    inside = [one for one in found if facts.within(one.node, loop)]
    return (
        len(found) > len(inside)
        and [one.node for one in inside] == [out]
        and not any(isinstance(node, ast.Attribute) and node.attr == "detach_" for node in ast.walk(loop))
    )


RULE = Rule(
    code="PSK212",
    name="state-not-detached",
    level="error",
    title="a state carried over without detach",
    why="The state that the last batch gave has the graph of that batch behind it, and through it those "
    "of all earlier ones. Either torch raises at the second `backward`, or memory and time grow with "
    "every step.",
    fix="Detach it between batches: state = state.detach(), or each part of it if it is a tuple.",
    bad="""\
import torch


def train(loader, model, criterion, optimizer, state):
    for x, y in loader:
        optimizer.zero_grad()
        out, state = model(x, state)
        loss = criterion(out, y)
        loss.backward()
        optimizer.step()
""",
    good="""\
import torch


def train(loader, model, criterion, optimizer, state):
    for x, y in loader:
        optimizer.zero_grad()
        state = state.detach()
        out, state = model(x, state)
        loss = criterion(out, y)
        loss.backward()
        optimizer.step()
""",
    check=check,
    libraries=("torch",),
    hints=("backward",),
    sources=("https://docs.pytorch.org/docs/stable/notes/faq.html",),
)
