"""A dataset that is built again in every round of a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.loops import repeated, same_each_round
from penstock.doctor.lint.pipelines import METHODS
from penstock.doctor.lint.rule import Hit, Rule

PURE = ("tf.", "tf1.", "penstock.", "keras.utils.", "np.", "builtins.", "os.path.", "tensorflow_datasets.")


def check(facts: Facts) -> Iterator[Hit]:
    """Outermost calls that give a dataset, in a loop in which nothing about them changes."""
    for call in facts.calls:
        above = facts.parents[call]
        if isinstance(above, ast.Attribute) and above.attr in METHODS:
            continue  # a part of a longer pipeline
        if isinstance(call.func, ast.Attribute) and call.func.attr == "from_generator":
            continue  # PSK002
        loop = repeated(facts, call)
        if loop is None or _step(call):
            continue
        chains = facts.pipelines.chains(call)
        if not chains or any(chain.source is None for chain in chains):
            continue
        if any("from_generator" in chain.start or "random" in chain.start for chain in chains):
            continue
        if any(name in {"take", "shard", "skip"} for chain in chains for name in chain.names):
            continue  # a part of the data: perhaps another one each time
        if not _made_here(call) or not same_each_round(facts, call, loop, PURE):
            continue
        yield call, "the same dataset is built again in every round of this loop"


def _step(call: ast.Call) -> bool:
    """Whether the call only adds to a dataset that has a name: that one is what matters."""
    node: ast.expr = call
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
        node = node.func.value
    return not isinstance(node, ast.Call)


def _made_here(call: ast.Call) -> bool:
    """Whether the source is made by this very call, not handed in as an argument."""
    node: ast.expr = call
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
        node = node.func.value
    return isinstance(node, ast.Call)


RULE = Rule(
    code="PSK001",
    name="dataset-in-loop",
    level="warning",
    title="dataset built in a loop",
    why="Every round builds the pipeline again: its functions are traced again, its buffers fill again, "
    "its cache starts empty. With tf.data each new pipeline also leaves functions behind in the "
    "process, so memory grows.",
    fix="Build the dataset once, before the loop, and iterate over it in the loop.",
    bad="""\
import tensorflow as tf


def train(x, y, model):
    for epoch in range(100):
        ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1000).batch(32)
        for batch in ds:
            model.train_on_batch(*batch)
""",
    good="""\
import tensorflow as tf


def train(x, y, model):
    ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1000).batch(32)
    for epoch in range(100):
        for batch in ds:
            model.train_on_batch(*batch)
""",
    check=check,
    libraries=("tensorflow", "penstock"),
    hints=("Dataset",),
    sources=(
        "https://github.com/EnyaHermite/SPH3D-GCN/issues/6",
        "https://github.com/tensorflow/tensorflow/issues/44176",
    ),
)
