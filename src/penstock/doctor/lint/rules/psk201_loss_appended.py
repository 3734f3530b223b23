"""Losses appended with their graphs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.autograd import behind, cut_off, shown, with_graph
from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.kept import appended, older
from penstock.doctor.lint.loops import Loop, loops
from penstock.doctor.lint.rule import Hit, Rule
from penstock.doctor.lint.tracing import counts


def check(facts: Facts) -> Iterator[Hit]:
    """`losses.append(loss)` where `loss.backward()` is called on the same value."""
    graphs = with_graph(facts)
    for node, container, item, loop in _kept(facts):
        for part in _parts(item):
            name = behind(part)
            if name is None or cut_off(facts, name):
                continue
            found = facts.definitions(name)
            if found and all(shown(facts, graphs, one, loop) for one in found):
                yield node, f"`{ast.unparse(container)}` keeps the graph of every `{name.id}`"


def _kept(facts: Facts) -> Iterator[tuple[ast.AST, ast.expr, ast.expr, Loop]]:
    """What is appended, added as `losses += [loss]`, or put in a place of its own: `losses[step] = loss`."""
    for kept in appended(facts):
        yield kept.call, kept.container, kept.item, kept.loop
    for node in facts.nodes:
        loop = next(iter(loops(facts, node)), None) if isinstance(node, (ast.AugAssign, ast.Assign)) else None
        if loop is None:
            continue
        if isinstance(node, ast.AugAssign):
            if isinstance(node.op, ast.Add) and isinstance(node.value, ast.List):
                yield node, node.target, node.value, loop
        elif (
            isinstance(node, ast.Assign)
            and isinstance(place := node.targets[0], ast.Subscript)
            and counts(facts, place.slice, loop)
            and older(facts, place.value, loop)
            and not any(facts.called(one).startswith("np.") for one, _ in facts.origins(place.value))
        ):
            yield node, place.value, node.value, loop


def _parts(item: ast.expr) -> list[ast.expr]:
    """A value, or those that a tuple, a list or a dictionary holds."""
    if isinstance(item, (ast.Tuple, ast.List)):
        return item.elts
    return [one for one in item.values if one] if isinstance(item, ast.Dict) else [item]


RULE = Rule(
    code="PSK201",
    name="loss-appended",
    level="error",
    title="losses appended with their graphs",
    why="A loss is the end of a graph that refers to every operation and tensor it came from. A list of "
    "losses keeps all these graphs: memory grows with every step.",
    fix="Append loss.item() or float(loss); loss.detach() if it is to stay on the device.",
    bad="""\
import torch


def train(loader, model, criterion, optimizer):
    losses = []
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss)
""",
    good="""\
import torch


def train(loader, model, criterion, optimizer):
    losses = []
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
""",
    check=check,
    libraries=("torch", "lightning", "pytorch_lightning"),
    hints=("backward", r"\.append\(|\+= ?\[|\] = "),
    sources=(
        "https://github.com/TRI-ML/packnet-sfm/issues/47",
        "https://github.com/IBM/mi-prometheus/issues/111",
    ),
)
