"""A running total of losses that keeps all graphs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.autograd import begun_before, behind, cut_off, grad_off, shown, with_graph
from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.loops import loops
from penstock.doctor.lint.rule import Hit, Rule


def check(facts: Facts) -> Iterator[Hit]:
    """`total += loss`, or `total = total + loss`, where `loss.backward()` is called on the same value."""
    graphs = with_graph(facts)
    for node in facts.nodes:
        target, total, added = _sum(node)
        name = behind(added) if added is not None else None
        if target is None or total is None or name is None:
            continue
        loop = next(iter(loops(facts, node)), None)
        if loop is None or cut_off(facts, name) or grad_off(facts, node):
            continue
        found = facts.definitions(name)
        if not found or not all(shown(facts, graphs, one, loop) for one in found):
            continue
        if any(one.node is target for one in graphs):
            continue  # the total itself is what backward is called on
        if begun_before(facts, total, loop):
            yield node, f"`{ast.unparse(target)}` keeps the graph of every `{name.id}` that is added to it"


def _sum(node: ast.AST) -> tuple[ast.expr | None, ast.expr | None, ast.expr | None]:
    """What is set, what it was before, and what is added."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        return node.target, node.target, node.value
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.value, ast.BinOp):
        target, value = node.targets[0], node.value
        if isinstance(value.op, ast.Add) and ast.unparse(value.left) == ast.unparse(target):
            return target, value.left, value.right
    return None, None, None


RULE = Rule(
    code="PSK202",
    name="loss-added-up",
    level="error",
    title="a running total keeps all graphs",
    why="Adding a loss to a total makes the total a tensor whose graph refers to the graphs of all losses "
    "so far. None can be freed before the total goes.",
    fix="Write total += loss.item(); or loss.detach() if it is to stay on the device.",
    bad="""\
import torch


def train(loader, model, criterion, optimizer):
    total = 0.0
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss
    return total / len(loader)
""",
    good="""\
import torch


def train(loader, model, criterion, optimizer):
    total = 0.0
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)
""",
    check=check,
    libraries=("torch", "lightning", "pytorch_lightning"),
    hints=("backward",),
    sources=(
        "https://github.com/BatsResearch/labelmodels/issues/4",
        "https://github.com/google/brax/pull/152",
        "https://docs.pytorch.org/docs/stable/notes/faq.html",
    ),
)
