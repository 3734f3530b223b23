"""`next(iter(loader))` in a loop: everything starts again for one batch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.consumers import loops_over
from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.loops import repeated, root
from penstock.doctor.lint.rule import Hit, Rule


def check(facts: Facts) -> Iterator[Hit]:
    """`next(iter(x))` in a loop that steps, where `x` is made before the loop."""
    for call in facts.calls:
        if facts.called(call) != "builtins.next" or len(call.args) != 1:
            continue
        inner = call.args[0]
        if not (
            isinstance(inner, ast.Call) and facts.called(inner) == "builtins.iter" and len(inner.args) == 1
        ):
            continue
        loop = repeated(facts, call)
        what = inner.args[0]
        if (
            loop is None
            or not isinstance(what, (ast.Name, ast.Attribute))
            or root(what) == ""
            or any(facts.within(one.node, loop) for one in facts.definitions(_first(what)))
        ):
            continue
        if any(facts.within(other, loop) and other is not loop for _, other in loops_over(facts)):
            continue  # a loop over epochs, which looks at one batch in passing
        if _dataset(facts, what):
            yield call, f"`{ast.unparse(what)}` starts again in every round, for one batch: always the first"


def _first(node: ast.expr) -> ast.Name:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    assert isinstance(node, ast.Name)
    return node


def _dataset(facts: Facts, node: ast.Name | ast.Attribute) -> bool:
    if any(chain.library for chain in facts.pipelines.chains(node)):
        return True
    made = [one for one, _ in facts.origins(node)]
    if made and all(facts.called(one) == "torch.utils.data.DataLoader" for one in made):
        return True
    if isinstance(node, ast.Attribute):
        return False
    given = all(one.kind == "parameter" for one in facts.definitions(node))
    return given and "torch" in facts.imported and node.id.lower().endswith("loader")


RULE = Rule(
    code="PSK016",
    name="new-iterator-each-step",
    level="warning",
    title="a new iterator for every step",
    why="`iter` starts the whole pipeline: worker processes, threads, a shuffle buffer to be filled. "
    "`next(iter(x))` pays for that at every step and takes one batch. Without shuffling it is always "
    "the same batch.",
    fix="Loop over it: `for batch in loader:`; or call iter() once, before the loop.",
    bad="""\
from torch.utils.data import DataLoader


def train(dataset, model, steps):
    loader = DataLoader(dataset, batch_size=32, num_workers=4)
    for step in range(steps):
        model(next(iter(loader)))
""",
    good="""\
from torch.utils.data import DataLoader


def train(dataset, model, steps):
    loader = DataLoader(dataset, batch_size=32, num_workers=4)
    for batch in loader:
        model(batch)
""",
    check=check,
    libraries=("tensorflow", "penstock", "torch"),
    hints=(r"next\(\s*iter\(",),
    sources=("https://github.com/pytorch/pytorch/issues/15849",),
)
