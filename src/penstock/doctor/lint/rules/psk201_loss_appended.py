"""Losses appended with their graphs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.autograd import behind, cut_off, shown, with_graph
from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.kept import appended
from penstock.doctor.lint.rule import Hit, Rule


def check(facts: Facts) -> Iterator[Hit]:
    """`losses.append(loss)` where `loss.backward()` is called on the same value."""
    graphs = with_graph(facts)
    for kept in appended(facts):
        name = behind(kept.item)
        if name is None or cut_off(facts, name):
            continue
        found = facts.definitions(name)
        if found and all(shown(facts, graphs, one, kept.loop) for one in found):
            yield kept.call, f"`{ast.unparse(kept.container)}` keeps the graph of every `{name.id}`"


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
    hints=("backward", r"\.append\("),
    sources=(
        "https://github.com/TRI-ML/packnet-sfm/issues/47",
        "https://github.com/IBM/mi-prometheus/issues/111",
    ),
)
