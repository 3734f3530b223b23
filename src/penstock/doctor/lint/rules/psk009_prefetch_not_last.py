"""`prefetch` in the middle: what comes after it keeps the training loop waiting."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.consumers import readers
from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.rule import Hit, Rule

WORK = frozenset(["map", "batch", "padded_batch", "ragged_batch", "shuffle", "filter", "unbatch"])
UNSURE = frozenset(["prefetch", "apply", "interleave", "flat_map", "zip", "concatenate", "snapshot", "take"])


def check(facts: Facts) -> Iterator[Hit]:
    """The last `prefetch` of a pipeline, with steps behind it that do work."""
    seen = set(_last(facts))
    for chain in facts.whole:
        for place, step in chain.find("prefetch"):
            after = [one.name for one in chain.after(place)]
            work = [name for name in after if name in WORK]
            if not work or UNSURE & set(after) or step.call in seen or _part(facts, chain.steps[-1].call):
                continue
            seen.add(step.call)
            yield (
                step.call,
                f"prefetch() is not last: {work[0]}() behind it runs while the training loop waits",
            )


def _last(facts: Facts) -> Iterator[ast.Call]:
    """Every `prefetch` that is last where a dataset is read; what else is made of it is a side branch."""
    handed = [one for call in facts.calls if facts.function(call.func) is None for one in call.args]
    for node in [*readers(facts), *handed]:
        for chain in facts.pipelines.chains(node):
            for place, step in chain.find("prefetch"):
                if not WORK & {one.name for one in chain.after(place)}:
                    yield step.call


def _part(facts: Facts, end: ast.Call) -> bool:
    """Whether a pipeline is a part of another one: handed to a function, or made for `interleave`."""
    if isinstance(facts.parents[end], (ast.Call, ast.List, ast.Tuple, ast.keyword)):
        return True
    made = facts.maker(end)
    return any(
        one.name in {"interleave", "flat_map"} and any(facts.function(part) is made for part in one.call.args)
        for chain in facts.whole
        for one in chain.steps
    )


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
