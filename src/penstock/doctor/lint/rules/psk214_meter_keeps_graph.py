"""A meter of this file that adds up losses as it gets them, with their graphs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.autograd import behind, cut_off, shown, with_graph
from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.kept import bounded, older
from penstock.doctor.lint.loaders import method
from penstock.doctor.lint.loops import loops
from penstock.doctor.lint.rule import Hit, Rule


def check(facts: Facts) -> Iterator[Hit]:
    """`meter.update(loss)` where `loss` has a graph, and the class adds its argument to an attribute."""
    graphs = with_graph(facts)
    for call in facts.calls:
        loop = next(iter(loops(facts, call)), None)
        if loop is None or not isinstance(call.func, ast.Attribute) or not call.args:
            continue
        name = behind(call.args[0])
        found = facts.definitions(name) if name is not None and not cut_off(facts, name) else frozenset()
        if not found or not all(shown(facts, graphs, one, loop) for one in found):
            continue
        if older(facts, call.func.value, loop) and _adds(facts, call.func):
            yield (
                call,
                f"`{ast.unparse(call.func.value)}` adds up losses with their graphs, so that none is freed",
            )


def _adds(facts: Facts, called: ast.Attribute) -> bool:
    """Whether a method of a class of this file adds its first argument, as it is, to an attribute."""
    made = [one for one, _ in facts.origins(called.value)]
    owners = [facts.local_class(one.func) if isinstance(one, ast.Call) else None for one in made]
    return bool(owners) and all(owner is not None and _keeps(facts, owner, called.attr) for owner in owners)


def _keeps(facts: Facts, owner: ast.ClassDef, name: str) -> bool:
    body = method(owner, name)
    if body is None or len(body.args.args) < 2:
        return False
    first = body.args.args[1]
    for node in facts.inside(body):
        added = _added(facts, node)
        given = behind(added) if added is not None else None
        if given is not None and {one.node for one in facts.definitions(given)} == {first}:
            return True
    return False


def _added(facts: Facts, node: ast.AST) -> ast.expr | None:
    """What `self.sum += value` adds, or `self.values.append(value)`."""
    if isinstance(node, ast.AugAssign):
        return node.value if isinstance(node.op, ast.Add) and isinstance(node.target, ast.Attribute) else None
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or len(node.args) != 1:
        return None
    kept = node.func.attr == "append" and isinstance(node.func.value, ast.Attribute)
    return node.args[0] if kept and not bounded(facts, node.func.value) else None


RULE = Rule(
    code="PSK214",
    name="meter-keeps-graph",
    level="error",
    title="a meter keeps all graphs",
    why="The class adds what it is given to a running sum. Given a loss as it is, the sum is a tensor whose "
    "graph refers to the graphs of all losses so far.",
    fix="Hand it loss.item(), or let the class call detach() on what it is given.",
    bad="""\
import torch


class Meter:
    def __init__(self):
        self.sum = 0.0

    def update(self, value, n=1):
        self.sum += value * n


def train(loader, model, criterion, optimizer):
    meter = Meter()
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        meter.update(loss, len(x))
""",
    good="""\
import torch


class Meter:
    def __init__(self):
        self.sum = 0.0

    def update(self, value, n=1):
        self.sum += value * n


def train(loader, model, criterion, optimizer):
    meter = Meter()
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        meter.update(loss.item(), len(x))
""",
    check=check,
    libraries=("torch",),
    hints=("backward",),
    sources=("https://github.com/rabbityl/lepard/issues/12",),
)
