"""A shuffle buffer that cannot fit."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import prod

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.module import constant
from penstock.doctor.lint.pipelines import Chain, Step
from penstock.doctor.lint.rule import Hit, Rule

ELEMENT = 200
"""Bytes that tf.data spends on a small element in the buffer: 50 million integers took 10 GB (tf#60599)."""
FIELD = 4
LIMIT = 8 * 2**30
RESIZES = frozenset(
    [
        "tf.image.resize",
        "tf.image.resize_with_pad",
        "tf.image.random_crop",
        "tf.image.resize_with_crop_or_pad",
    ]
)


def check(facts: Facts) -> Iterator[Hit]:
    """`shuffle` of tf.data whose buffer, times the least that an element can take, is more than 8 GiB."""
    for chain in facts.whole:
        if chain.library != "tf":
            continue
        for place, step in chain.find("shuffle"):
            size = step.argument("buffer_size", 0)
            rows = (
                [_number(facts, one) for one, _ in facts.origins(size, step.frame)]
                if size is not None
                else [0]
            )
            least = max(ELEMENT, _image_bytes(facts, chain, place))
            if min(rows) * least > LIMIT:
                held = min(rows) * least / 2**30
                yield step.call, f"shuffle() holds {min(rows):,} elements at once: at least {held:.0f} GiB"


def _number(facts: Facts, node: ast.expr) -> int:
    value = constant(node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Pow)):
        left, right = _number(facts, node.left), _number(facts, node.right)
        if isinstance(node.op, ast.Mult):
            return left * right
        return left**right if right < 64 and left < 2**20 else 0
    if isinstance(node, ast.Call) and facts.called(node) == "builtins.int" and len(node.args) == 1:
        value = constant(node.args[0])
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0
    return int(value) if value < 2**62 else 0


def _image_bytes(facts: Facts, chain: Chain, place: int) -> int:
    """What the elements take if a `map` before has made pictures of a size that is written down."""
    for step in chain.before(place):
        if step.name not in {"map", "prefetch", "filter", "repeat", "cache", "shard"}:
            return 0
    return max((_resized(facts, step) for step in chain.before(place) if step.name == "map"), default=0)


def _resized(facts: Facts, step: Step) -> int:
    function = step.argument("map_func", 0)
    body = facts.function(function) if function is not None else None
    for node in ast.walk(body) if body is not None else ():
        if isinstance(node, ast.Call) and facts.called(node) in RESIZES and len(node.args) > 1:
            for sides, _ in facts.origins(node.args[1]):
                if isinstance(sides, (ast.Tuple, ast.List)):
                    numbers = [constant(facts.origins(one)[0][0]) for one in sides.elts[:2]]
                    whole = [one for one in numbers if isinstance(one, int)]
                    if len(whole) == 2:
                        return prod(whole) * 3 * FIELD
    return 0


RULE = Rule(
    code="PSK008",
    name="shuffle-too-large",
    level="error",
    title="shuffle over a size that cannot fit",
    why="The buffer of `shuffle` holds its elements in memory, whatever budget tf.data was given. Small "
    "elements take about 200 bytes each, decoded pictures all their pixels. This one passes 8 GiB.",
    fix="Shuffle file names and records before they are decoded, with a buffer of some thousands; or use "
    "Penstock, whose shuffle spills to disk within its budget.",
    bad="""\
import tensorflow as tf


def decode(record):
    return tf.image.resize(tf.io.decode_jpeg(record), [512, 512])


ds = tf.data.TFRecordDataset(["train.tfrecord"]).map(decode).shuffle(50_000).batch(32)
""",
    good="""\
import tensorflow as tf


def decode(record):
    return tf.image.resize(tf.io.decode_jpeg(record), [512, 512])


ds = tf.data.TFRecordDataset(["train.tfrecord"]).shuffle(50_000).map(decode).batch(32)
""",
    check=check,
    libraries=("tensorflow",),
    hints=(r"\.shuffle\(",),
    sources=(
        "https://github.com/tensorflow/tensorflow/issues/60599",
        "https://github.com/tensorflow/tensorflow/issues/32376",
    ),
)
