"""`prefetch` in the middle: what comes after it keeps the training loop waiting."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.consumers import readers
from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.kept import named, uses
from penstock.doctor.lint.pipelines import METHODS, Step, of_one, source_library
from penstock.doctor.lint.rule import Hit, Rule

WORK = frozenset(["map", "batch", "padded_batch", "ragged_batch", "shuffle", "filter", "unbatch"])
UNSURE = frozenset(["prefetch", "apply", "interleave", "flat_map", "zip", "concatenate", "snapshot", "take"])

PARALLEL = {"map": 1, "batch": 2}
"""Where the number of parallel calls stands among the arguments."""


def check(facts: Facts) -> Iterator[Hit]:
    """The last `prefetch` of a pipeline, with steps behind it that do work."""
    seen = set(_last(facts))
    for chain in facts.whole:
        for place, step in chain.find("prefetch"):
            after = [one.name for one in chain.after(place)]
            work = _waits(facts, chain.after(place))
            if not work or UNSURE & set(after):
                continue
            if not seen.isdisjoint([step.call, chain.steps[-1].call]) or _part(facts, chain.steps[-1].call):
                continue
            seen.update([step.call, chain.steps[-1].call])
            yield (
                step.call,
                f"prefetch() is not last: {work[0]}() behind it runs while the training loop waits",
            )


def _waits(facts: Facts, steps: tuple[Step, ...]) -> list[str]:
    """The steps that work only when asked: not those before a parallel one, which runs ahead by itself."""
    names: list[str] = []
    for step in steps:
        if step.argument("num_parallel_calls", PARALLEL.get(step.name)) is not None:
            names = []
        elif step.name in WORK and not of_one(facts, step):
            names.append(step.name)
    return names


def _last(facts: Facts) -> Iterator[ast.Call]:
    """Every `prefetch` that is last where a dataset is read; what else is made of it is a side branch."""
    handed = [one for call in facts.calls if facts.function(call.func) is None for one in call.args]
    for node in [*readers(facts), *handed]:
        for chain in facts.pipelines.chains(node):
            for place, step in chain.find("prefetch"):
                if not _waits(facts, chain.after(place)):
                    yield step.call


def _part(facts: Facts, end: ast.Call) -> bool:
    """Whether a pipeline is a part of another one: handed to a function, or made for `interleave`."""
    if isinstance(facts.parents[end], (ast.Call, ast.List, ast.Tuple, ast.keyword)):
        return True
    name = named(facts, end)
    if name is not None and any(_joined(facts, use) for use in uses(facts, name.id, name, facts.tree)):
        return True
    made = facts.maker(end)
    return any(
        one.name in {"interleave", "flat_map"} and any(facts.function(part) is made for part in one.call.args)
        for chain in facts.whole
        for one in chain.steps
    )


def _joined(facts: Facts, use: ast.Name) -> bool:
    """Whether another dataset is made of one: by a method, or as an argument as in `zip((a, b))`."""
    above = facts.parents[use]
    if isinstance(above, ast.Attribute):
        return above.attr in METHODS
    below: ast.AST = use
    for above in facts.ancestors(use):
        if isinstance(above, ast.Call):
            is_step = isinstance(above.func, ast.Attribute) and above.func.attr in METHODS
            return below is not above.func and (is_step or bool(source_library(facts.called(above))))
        if not isinstance(above, (ast.Tuple, ast.List, ast.Dict, ast.keyword)):
            return False
        below = above
    return False


RULE = Rule(
    code="PSK009",
    name="prefetch-not-last",
    level="warning",
    title="prefetch is not last",
    why="`prefetch` lets everything before it run ahead while the model trains. Steps behind it run only "
    "when the training loop asks, and the loop waits for them.",
    fix="Move prefetch() to the end, or add one there.",
    bad="""\
import tensorflow as tf

ds = tf.data.TFRecordDataset(["train.tfrecord"]).prefetch(8).map(parse).batch(32)
""",
    good="""\
import tensorflow as tf

ds = tf.data.TFRecordDataset(["train.tfrecord"]).map(parse).batch(32).prefetch(8)
""",
    check=check,
    libraries=("tensorflow", "penstock"),
    hints=(r"\.prefetch\(",),
    sources=("https://www.tensorflow.org/guide/data_performance#prefetching",),
)
