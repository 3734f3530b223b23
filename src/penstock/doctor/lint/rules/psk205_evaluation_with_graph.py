"""Outputs of an evaluation kept with their graphs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.autograd import begun_before, behind, grad_off
from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.kept import appended
from penstock.doctor.lint.loops import loops
from penstock.doctor.lint.module import FUNCTIONS
from penstock.doctor.lint.rule import Hit, Rule


def check(facts: Facts) -> Iterator[Hit]:
    """`outputs.append(model(x))` in a loop after `model.eval()`, where torch records graphs."""
    yield from _added(facts)
    for kept in appended(facts):
        where = facts.maker(kept.call)
        if _recorded_on_purpose(facts, kept.call):
            continue
        item: ast.expr | None = kept.item
        name = behind(kept.item)
        if name is not None:
            made = facts.definitions(name)
            if len(made) != 1 or not facts.within(next(iter(made)).node, kept.loop):
                continue
            (one,) = made
            item = one.value if one.kind == "assign" else None
        if isinstance(item, ast.Call) and _in_eval(item.func, where) and not grad_off(facts, item):
            container, model = ast.unparse(kept.container), ast.unparse(item.func)
            yield kept.call, f"`{container}` keeps outputs of `{model}` with their graphs"
    yield from _listed(facts)


def _listed(facts: Facts) -> Iterator[Hit]:
    """`[model(x) for x in loader]` after `model.eval()`."""
    for node in facts.nodes:
        if isinstance(node, ast.ListComp) and isinstance(node.elt, ast.Call):
            model = node.elt.func
            if _in_eval(model, facts.maker(node)) and not _recorded_on_purpose(facts, node):
                yield node, f"the list keeps outputs of `{ast.unparse(model)}` with their graphs"


def _added(facts: Facts) -> Iterator[Hit]:
    """`total += criterion(model(x), y)` in a loop after `model.eval()`."""
    for node in facts.nodes:
        if not isinstance(node, ast.AugAssign) or not isinstance(node.op, ast.Add):
            continue
        loop = next(iter(loops(facts, node)), None)
        if loop is None or not begun_before(facts, node.target, loop) or _recorded_on_purpose(facts, node):
            continue
        value: ast.expr | None = node.value
        name = behind(node.value)
        if name is not None:
            value = _made(facts, name, loop)
        if isinstance(value, ast.Call) and _is_loss(facts, value) and not grad_off(facts, value):
            parts = [_made(facts, one, loop) if isinstance(one, ast.Name) else one for one in value.args]
            calls = [one for one in parts if isinstance(one, ast.Call)]
            models = [one.func for one in calls if not grad_off(facts, one)]
            if any(_in_eval(model, facts.maker(node)) for model in models):
                yield node, f"`{ast.unparse(node.target)}` keeps the graph of every batch that is added to it"


def _made(facts: Facts, name: ast.Name, loop: ast.AST) -> ast.expr | None:
    """What a name was set to in a loop, if in one place only."""
    found = facts.definitions(name)
    if len(found) != 1:
        return None
    (one,) = found
    return one.value if one.kind == "assign" and facts.within(one.node, loop) else None


def _is_loss(facts: Facts, call: ast.Call) -> bool:
    name = facts.called(call) or ast.unparse(call.func)
    last = name.rsplit(".", 1)[-1].lower()
    return "loss" in last or "criterion" in last or name.startswith("torch.nn.functional.")


def _recorded_on_purpose(facts: Facts, node: ast.AST) -> bool:
    """Whether no graph is recorded here, or one that somebody wants."""
    where = facts.maker(node)
    return grad_off(facts, node) or _wants_grad(where) or _called_off(facts, where)


def _in_eval(model: ast.expr, where: ast.AST) -> bool:
    """Whether the function calls `model.eval()`, on the same model and not `train()` later."""
    if not isinstance(model, (ast.Name, ast.Attribute)):
        return False
    name = ast.unparse(model)
    said = [
        node.func.attr
        for node in ast.walk(where)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args
        and ast.unparse(node.func.value) == name
    ]  # fmt: skip
    return "eval" in said and "parameters" not in said


def _wants_grad(where: ast.AST) -> bool:
    for node in ast.walk(where):
        if isinstance(node, ast.Attribute) and node.attr in {
            "backward",
            "grad",
            "requires_grad_",
            "requires_grad",
        }:
            return True
        if isinstance(node, ast.keyword) and node.arg == "requires_grad":
            return True
    return False


def _called_off(facts: Facts, where: ast.AST) -> bool:
    """Whether this file calls the function where no graphs are recorded."""
    if not isinstance(where, FUNCTIONS):
        return any(facts.called(call).endswith("set_grad_enabled") for call in facts.calls)
    return any(facts.function(call.func) is where and grad_off(facts, call) for call in facts.calls)


RULE = Rule(
    code="PSK205",
    name="evaluation-with-graph",
    level="error",
    title="outputs kept without no_grad",
    why="`eval()` changes how layers behave, not whether torch records graphs. Outputs kept in a list "
    "hold the activations of the whole model for every batch.",
    fix="Put the loop under `with torch.no_grad():` or torch.inference_mode(), or append "
    "output.detach().cpu().",
    bad="""\
import torch


def predict(model, loader):
    model.eval()
    outputs = []
    for x in loader:
        outputs.append(model(x))
    return torch.cat(outputs)
""",
    good="""\
import torch


@torch.no_grad()
def predict(model, loader):
    model.eval()
    outputs = []
    for x in loader:
        outputs.append(model(x))
    return torch.cat(outputs)
""",
    check=check,
    libraries=("torch",),
    hints=(r"\.eval\(\)",),
    sources=("https://docs.pytorch.org/docs/stable/notes/faq.html",),
)
