"""A session opened in every round of a loop, and never closed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.graphmode import SESSIONS
from penstock.doctor.lint.loops import repeated
from penstock.doctor.lint.rule import Hit, Rule


def check(facts: Facts) -> Iterator[Hit]:
    """Sessions bound to a name in a loop, without `close()` and without `with`."""
    for call in facts.calls:
        if facts.called(call) not in SESSIONS:
            continue
        loop, above = repeated(facts, call), facts.parents[call]
        if loop is None or not isinstance(above, ast.Assign) or not isinstance(above.targets[0], ast.Name):
            continue
        name = above.targets[0].id
        uses = [node for node in ast.walk(loop) if isinstance(node, ast.Name) and node.id == name]
        parents = [facts.parents[node] for node in uses if isinstance(node.ctx, ast.Load)]
        methods = {one.attr for one in parents if isinstance(one, ast.Attribute)}
        if all(isinstance(one, ast.Attribute) for one in parents) and not methods & {
            "close",
            "__exit__",
            "as_default",
        }:
            yield call, f"`{name}` is opened in every round of this loop and never closed"


RULE = Rule(
    code="PSK107",
    name="session-in-loop",
    level="error",
    title="session in a loop, never closed",
    why="A session holds threads, and the memory of its variables on the device. Losing its name does not "
    "let go of all of that.",
    fix="Open one session before the loop, or use `with tf.compat.v1.Session() as sess:`.",
    bad="""\
import tensorflow as tf


def score(names, y):
    for name in names:
        sess = tf.compat.v1.Session()
        print(name, sess.run(y))
""",
    good="""\
import tensorflow as tf


def score(names, y):
    with tf.compat.v1.Session() as sess:
        for name in names:
            print(name, sess.run(y))
""",
    check=check,
    libraries=("tensorflow",),
    hints=("Session",),
    sources=("https://www.tensorflow.org/api_docs/python/tf/compat/v1/Session",),
)
