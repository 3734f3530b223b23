"""Arrays that become constants of a graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import prod

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.graphmode import graph_mode
from penstock.doctor.lint.module import constant
from penstock.doctor.lint.rule import Hit, Rule

TAKES = frozenset(
    ["tf.data.Dataset.from_tensor_slices", "tf.data.Dataset.from_tensors"]
    + [f"{start}.{name}" for start in ("tf", "tf1") for name in ("constant", "convert_to_tensor")]
)
LOADS = ("np.load", "np.genfromtxt", "np.loadtxt", "np.fromfile", "np.memmap", "pandas.read_", "h5py.File")
FILLS = ("np.zeros", "np.ones", "np.random.", "np.full", "np.empty", "np.arange")
LARGE = 1_000_000


def check(facts: Facts) -> Iterator[Hit]:
    """Calls that put an array, surely a large one, into the graph of a file that works in graph mode."""
    if not graph_mode(facts):
        return
    for call in facts.calls:
        if (
            facts.called(call) in TAKES
            and call.args
            and any(_large(facts, one) for one in _leaves(call.args[0]))
        ):
            name = ast.unparse(call.func).rsplit(".", 1)[-1]
            yield call, f"{name}() in graph mode copies the whole array into the graph, as a constant"


def _leaves(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, (ast.Tuple, ast.List)):
        return [leaf for one in node.elts for leaf in _leaves(one)]
    if isinstance(node, ast.Dict):
        return [leaf for one in node.values for leaf in _leaves(one)]
    return [node]


def _large(facts: Facts, node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        made = facts.definitions(node)
        loaded = [one.value for one in made if isinstance(one.value, ast.Call)]
        if len(loaded) == len(made) and made and all(_dataset(facts.called(one)) for one in loaded):
            return True
    origins = [one for one, _ in facts.origins(node)]
    return bool(origins) and all(_made_large(facts, one) for one in origins)


def _dataset(name: str) -> bool:
    return name.startswith("keras.datasets.") and name.endswith(".load_data")


def _made_large(facts: Facts, node: ast.expr) -> bool:
    while isinstance(node, (ast.Subscript, ast.Attribute)) or (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not facts.called(node)
    ):
        node = node.func if isinstance(node, ast.Call) else node.value
    if not isinstance(node, ast.Call):
        return False
    name = facts.called(node)
    if name.startswith(LOADS):
        return True
    sizes = node.args[0].elts if node.args and isinstance(node.args[0], ast.Tuple) else node.args
    numbers = [one for one in map(constant, sizes) if isinstance(one, int) and not isinstance(one, bool)]
    return name.startswith(FILLS) and bool(numbers) and prod(numbers) >= LARGE


RULE = Rule(
    code="PSK011",
    name="array-in-graph",
    level="error",
    title="large array in a graph",
    why="In graph mode the array becomes a constant of the graph: it is copied several times, it is "
    "written into every saved graph, and past 2 GB the graph cannot be serialized at all.",
    fix="Feed the array through a placeholder and an initializable iterator, read it from files, or leave "
    "graph mode.",
    bad="""\
import numpy as np
import tensorflow as tf

tf.compat.v1.disable_eager_execution()
features = np.load("features.npy")
ds = tf.data.Dataset.from_tensor_slices(features).batch(32)
""",
    good="""\
import numpy as np
import tensorflow as tf

tf.compat.v1.disable_eager_execution()
features = np.load("features.npy")
fed = tf.compat.v1.placeholder(features.dtype, features.shape)
ds = tf.data.Dataset.from_tensor_slices(fed).batch(32)
iterator = tf.compat.v1.data.make_initializable_iterator(ds)
""",
    check=check,
    libraries=("tensorflow",),
    hints=("disable_eager|disable_v2|Session",),
    sources=("https://www.tensorflow.org/guide/data#consuming_numpy_arrays",),
)
