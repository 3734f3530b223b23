"""Hooks that are registered again and again, and never removed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.kept import made_again, older
from penstock.doctor.lint.loops import Loop, assigned, repeated, root
from penstock.doctor.lint.rule import Hit, Rule

HOOKS = frozenset(
    [
        "register_forward_hook",
        "register_forward_pre_hook",
        "register_full_backward_hook",
        "register_backward_hook",
        "register_full_backward_pre_hook",
    ]
)


def check(facts: Facts) -> Iterator[Hit]:
    """A hook on the same module in every round of a loop, whose handle is thrown away."""
    for call in facts.calls:
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in HOOKS:
            continue
        loop = repeated(facts, call)
        owner = call.func.value
        if not isinstance(facts.parents[call], ast.Expr):
            continue
        if loop is None:
            if root(owner) == "self" and (made := made_again(facts, call)) and not _removes(facts, made):
                yield call, f"every call adds another hook to `{ast.unparse(owner)}`, and none is removed"
            continue
        if older(facts, owner, loop) and root(owner) not in assigned(loop) and not _moves(owner, loop):
            yield call, f"every round adds another hook to `{ast.unparse(owner)}`, and none is removed"


def _removes(facts: Facts, made: ast.AST) -> bool:
    """Whether a function takes away hooks, or puts another module in their place."""
    return any(
        (isinstance(node, ast.Attribute) and node.attr in {"remove", "clear"})
        or (isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load) and root(node) == "self")
        for node in facts.inside(made)
    )


def _moves(owner: ast.AST, loop: Loop) -> bool:
    """Whether another module is meant each time: `layers[i]`."""
    inner = assigned(loop)
    return any(isinstance(node, ast.Name) and node.id in inner for node in ast.walk(owner))


RULE = Rule(
    code="PSK210",
    name="hook-in-loop",
    level="error",
    title="hooks pile up",
    why="Every registered hook stays, runs at each call, and keeps alive whatever its function refers to: "
    "often the activations that it stores.",
    fix="Register once, before the loop; or keep the handle and call handle.remove().",
    bad="""\
import torch


def watch(loader, model, layer, seen):
    for x in loader:
        layer.register_forward_hook(lambda module, given, out: seen.update(out=out))
        model(x)
""",
    good="""\
import torch


def watch(loader, model, layer, seen):
    handle = layer.register_forward_hook(lambda module, given, out: seen.update(out=out.detach()))
    for x in loader:
        model(x)
    handle.remove()
""",
    check=check,
    libraries=("torch",),
    hints=(r"register_\w*hook",),
    sources=("https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html",),
)
