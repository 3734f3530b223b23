"""A Penstock iterator that is opened, read in part, and never closed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.rule import Hit, Rule


def check(facts: Facts) -> Iterator[Hit]:
    """Iterators kept by a module or an object, with no `close()`, and not read to their end by a loop."""
    for call in facts.calls:
        opened = _opened(facts, call)
        above = facts.parents[call]
        if opened is None or not isinstance(above, ast.Assign) or len(above.targets) != 1:
            continue
        chains = facts.pipelines.chains(opened)
        if not chains or any(chain.library != "penstock" for chain in chains):
            continue
        target = above.targets[0]
        if isinstance(target, ast.Name) and facts.maker(call) is facts.tree and _only_next(facts, target.id):
            yield call, f"`{target.id}` is read in part and never closed: its buffers and threads stay"
        elif isinstance(target, ast.Attribute) and (owner := facts.owner(call)) and _kept(owner, target):
            yield (
                call,
                f"`{ast.unparse(target)}` is never closed: its buffers and threads stay with the object",
            )


def _opened(facts: Facts, call: ast.Call) -> ast.expr | None:
    """The dataset of `iter(ds)` or `ds.iterate()`."""
    if facts.called(call) == "builtins.iter" and len(call.args) == 1:
        return call.args[0]
    if isinstance(call.func, ast.Attribute) and call.func.attr == "iterate":
        return call.func.value
    return None


def _only_next(facts: Facts, name: str) -> bool:
    """Whether all that happens to a name of the module is `next(name)`."""
    used = [node for node in facts.nodes if isinstance(node, ast.Name) and node.id == name]
    loads = [node for node in used if isinstance(node.ctx, ast.Load)]
    if any(isinstance(node.ctx, ast.Del) for node in used) or not loads:
        return False
    parents = [facts.parents[node] for node in loads]
    if any(_to_the_end(facts, one) for one in parents):
        return False
    return all(isinstance(one, ast.Call) and facts.called(one) == "builtins.next" for one in parents)


def _to_the_end(facts: Facts, node: ast.AST) -> bool:
    """Whether it stands where the end of an iterator is expected."""
    while (above := facts.parents.get(node)) is not None:
        if isinstance(above, ast.Try) and node in above.body:
            names = {ast.unparse(one.type) for one in above.handlers if one.type is not None}
            if "StopIteration" in names:
                return True
        node = above
    return False


def _kept(owner: ast.ClassDef, target: ast.Attribute) -> bool:
    """Whether a class only ever calls `next` with an attribute of its own."""
    text = ast.unparse(target)
    seen = False
    for node in ast.walk(owner):
        for child in ast.iter_child_nodes(node):
            if (
                isinstance(child, ast.Attribute)
                and isinstance(child.ctx, ast.Load)
                and ast.unparse(child) == text
            ):
                if not (
                    isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "next"
                ):
                    return False
                seen = True
    return seen


RULE = Rule(
    code="PSK012",
    name="iterator-not-closed",
    level="warning",
    title="iterator never closed",
    why="An iterator that was not read to its end holds its buffers, threads and scratch files. It lets "
    "go of them when it is closed or collected; a module and a long-lived object keep it until the "
    "process ends.",
    fix="Open it with `with ds.iterate() as it:`, or call it.close().",
    bad="""\
import penstock as ps

it = iter(ps.TFRecordDataset("train.tfrecord").shuffle(1000).batch(32).prefetch(2))
first = next(it)
""",
    good="""\
import penstock as ps

with ps.TFRecordDataset("train.tfrecord").shuffle(1000).batch(32).prefetch(2).iterate() as it:
    first = next(it)
""",
    check=check,
    libraries=("penstock",),
    hints=(r"\biter(ate)?\(",),
    sources=(
        "https://github.com/google/grain/issues/1021",
        "https://github.com/tensorflow/tensorflow/issues/28759",
    ),
)
