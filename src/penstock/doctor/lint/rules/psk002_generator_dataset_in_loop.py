"""`from_generator` in a loop: TensorFlow keeps every one of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.loops import repeated
from penstock.doctor.lint.rule import Hit, Rule


def check(facts: Facts) -> Iterator[Hit]:
    """Calls in a loop that give a dataset whose source is `from_generator` of tf.data."""
    for call in facts.calls:
        if facts.called(call) != "tf.data.Dataset.from_generator" and facts.function(call.func) is None:
            continue
        loop = repeated(facts, call)
        if loop is None:
            continue
        chains = facts.pipelines.chains(call)
        if (
            chains
            and all(chain.start == "tf.data.Dataset.from_generator" for chain in chains)
            and not _collected(facts, {chain.source for chain in chains}, loop)
        ):
            yield (
                call,
                "from_generator() in a loop: TensorFlow keeps the functions of every dataset made this way",
            )


def _collected(facts: Facts, sources: set[ast.Call | None], loop: ast.AST) -> bool:
    """Whether the loop gives every dataset a place of its own, such as one for each split: all are wanted."""
    values: list[ast.expr] = []
    for node in ast.walk(loop):
        if isinstance(node, ast.Assign) and any(isinstance(one, ast.Subscript) for one in node.targets):
            parts = ast.walk(node.value) if _over_dict(loop) else [node.value]
            values += [one for one in parts if isinstance(one, (ast.Name, ast.Call))]
        elif isinstance(node, ast.Yield):
            values += [] if node.value is None else [node.value]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            values += node.args if node.func.attr in {"append", "add", "insert", "setdefault"} else []
    if isinstance(loop, ast.DictComp):
        values.append(loop.value)
    elif isinstance(loop, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
        values.append(loop.elt)
    return any(chain.source in sources for value in values for chain in facts.pipelines.chains(value))


def _over_dict(loop: ast.AST) -> bool:
    """Whether a loop goes over the entries of a dictionary, which are one thing each."""
    over = loop.iter if isinstance(loop, ast.For) else None
    return isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and over.func.attr == "items"


RULE = Rule(
    code="PSK002",
    name="generator-dataset-in-loop",
    level="error",
    title="from_generator in a loop",
    why="Each `from_generator` puts Python functions into a registry of TensorFlow that is never emptied. "
    "The dataset dies, its generator and all that it refers to stay: memory grows with every round.",
    fix="Build the dataset once, before the loop. If each round needs other data, let one generator read "
    "it from an object that the loop changes.",
    bad="""\
import tensorflow as tf


def train(rounds, read, spec, model):
    for number in range(rounds):
        ds = tf.data.Dataset.from_generator(lambda: read(number), output_signature=spec)
        model.fit(ds)
""",
    good="""\
import tensorflow as tf


def train(rounds, read, spec, model):
    current = {"number": 0}
    ds = tf.data.Dataset.from_generator(lambda: read(current["number"]), output_signature=spec)
    for number in range(rounds):
        current["number"] = number
        model.fit(ds)
""",
    check=check,
    libraries=("tensorflow",),
    hints=("from_generator",),
    sources=(
        "https://github.com/tensorflow/tensorflow/issues/37653",
        "https://github.com/tensorflow/tensorflow/issues/65675",
    ),
)
