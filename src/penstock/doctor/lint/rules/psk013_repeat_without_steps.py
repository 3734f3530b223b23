"""`repeat()` with nothing that ends it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.consumers import fits, loops_over
from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.module import constant
from penstock.doctor.lint.pipelines import Chain, Step
from penstock.doctor.lint.rule import Hit, Rule

BOUNDS = frozenset(["take", "take_while", "apply", "interleave", "flat_map", "zip"])


def endless(step: Step) -> bool:
    """Whether a `repeat` goes on for ever."""
    if step.name != "repeat" or any(one.arg is None for one in step.call.keywords):
        return False
    count = step.argument("count", 0)
    return (count is None and not step.call.args) or constant(count) in {None, -1}


def never_ends(chain: Chain) -> bool:
    """Whether a pipeline goes on for ever."""
    places = [place for place, step in enumerate(chain.steps) if endless(step)]
    return bool(places) and not any(step.name in BOUNDS for step in chain.after(places[0]))


def check(facts: Facts) -> Iterator[Hit]:
    """Pipelines without an end in a loop without a way out, in `fit` without steps, in `list`."""
    for node, loop in loops_over(facts):
        if _forever(facts, node) and not _way_out(facts, loop):
            yield (
                loop if isinstance(loop, ast.For) else node,
                "this loop never ends: the dataset repeats without end",
            )
    for node, call, steps in fits(facts):
        open_ended = any(one.arg is None for one in call.keywords)
        if (
            not open_ended
            and not any(one.arg == steps for one in call.keywords)
            and _forever(facts, node)
            and len(call.args) < 6
        ):
            yield call, f"the dataset repeats without end and there is no {steps}: this never ends"
    for call in facts.calls:
        if (
            facts.called(call) in {"builtins.list", "builtins.tuple", "builtins.sum"}
            and len(call.args) == 1
            and _forever(facts, call.args[0])
        ):
            yield call, "the dataset repeats without end: this fills memory and never ends"


def _forever(facts: Facts, node: ast.expr) -> bool:
    chains = facts.pipelines.chains(node)
    return bool(chains) and all(never_ends(chain) for chain in chains)


def _way_out(facts: Facts, loop: ast.AST) -> bool:
    """Whether a loop can be left: by break, return, raise, yield, or by a call that ends the process."""
    if not isinstance(loop, (ast.For, ast.AsyncFor)):
        return isinstance(loop, ast.GeneratorExp)
    for node in facts.inside(loop):
        if isinstance(node, (ast.Break, ast.Return, ast.Raise, ast.Yield, ast.YieldFrom, ast.Await)):
            return True
        if isinstance(node, ast.Call) and facts.called(node).endswith(("exit", "_exit", "quit", "next")):
            return True
    return False


RULE = Rule(
    code="PSK013",
    name="repeat-without-steps",
    level="error",
    title="repeat() without steps",
    why="`repeat()` without a count goes on for ever. An epoch of it has no end unless something counts "
    "its steps.",
    fix="Give fit() steps_per_epoch (and validation_steps), or leave repeat() out: every epoch reads the "
    "data again anyhow. In a loop of your own, break, or use take(n).",
    bad="""\
import tensorflow as tf

ds = tf.data.TFRecordDataset(["train.tfrecord"]).map(parse).repeat().batch(32)
model.fit(ds, epochs=10)
""",
    good="""\
import tensorflow as tf

ds = tf.data.TFRecordDataset(["train.tfrecord"]).map(parse).repeat().batch(32)
model.fit(ds, epochs=10, steps_per_epoch=1000)
""",
    check=check,
    libraries=("tensorflow", "penstock"),
    hints=(r"\.repeat\(",),
    sources=("https://www.tensorflow.org/api_docs/python/tf/data/Dataset#repeat",),
)
