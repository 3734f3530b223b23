"""A `DataLoader` with workers that is built again in every round of a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.loaders import LOADER, workers
from penstock.doctor.lint.loops import repeated, same_each_round
from penstock.doctor.lint.rule import Hit, Rule


def check(facts: Facts) -> Iterator[Hit]:
    """Loaders with workers, made in a loop in which nothing about them changes."""
    for call in facts.calls:
        made = _loaders(facts, call)
        loop = repeated(facts, call) if made else None
        if (
            loop is not None
            and all(workers(facts, one) for one in made)
            and same_each_round(facts, call, loop, ("torch.", "builtins."))
        ):
            yield (
                call,
                "the same DataLoader is built in every round of this loop, and its workers start again",
            )


def _loaders(facts: Facts, call: ast.Call) -> list[ast.Call]:
    """The calls that make the loader which a call gives, itself or a function of this file."""
    if facts.called(call) == LOADER:
        return [call]
    if facts.function(call.func) is None:
        return []
    made = [one for one, _ in facts.origins(call)]
    calls = [one for one in made if isinstance(one, ast.Call) and facts.called(one) == LOADER]
    return calls if len(calls) == len(made) else []


RULE = Rule(
    code="PSK208",
    name="loader-in-loop",
    level="warning",
    title="DataLoader built in a loop",
    why="A new loader starts its worker processes again: each imports the libraries and gets its own copy "
    "of the dataset. That takes seconds a round, and `persistent_workers` has no effect.",
    fix="Build the loader once, before the loop, with persistent_workers=True.",
    bad="""\
from torch.utils.data import DataLoader


def train(dataset, model, epochs):
    for epoch in range(epochs):
        loader = DataLoader(dataset, batch_size=32, shuffle=True, num_workers=8)
        for batch in loader:
            model(batch)
""",
    good="""\
from torch.utils.data import DataLoader


def train(dataset, model, epochs):
    loader = DataLoader(dataset, batch_size=32, shuffle=True, num_workers=8, persistent_workers=True)
    for epoch in range(epochs):
        for batch in loader:
            model(batch)
""",
    check=check,
    libraries=("torch",),
    hints=("DataLoader", "num_workers"),
    sources=(
        "https://github.com/pytorch/pytorch/issues/15849",
        "https://github.com/kohya-ss/sd-scripts/pull/120",
    ),
)
