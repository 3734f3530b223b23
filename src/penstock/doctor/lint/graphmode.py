"""TensorFlow's graph mode: whether a file works in it, and what adds to a graph."""

from __future__ import annotations

import ast

from penstock.doctor.lint.module import Module

SWITCHES = frozenset(
    [
        "tf1.disable_eager_execution",
        "tf1.disable_v2_behavior",
        "tf.disable_eager_execution",
        "tf.disable_v2_behavior",
    ]
)
SESSIONS = frozenset(["tf1.Session", "tf.Session", "tf1.InteractiveSession", "tf.InteractiveSession",
                      "tf1.train.MonitoredTrainingSession", "tf.train.MonitoredTrainingSession"])  # fmt: skip
OPS = frozenset(
    [
        "abs",
        "add",
        "add_n",
        "argmax",
        "argmin",
        "assign",
        "assign_add",
        "assign_sub",
        "boolean_mask",
        "broadcast_to",
        "cast",
        "clip_by_norm",
        "clip_by_value",
        "concat",
        "constant",
        "convert_to_tensor",
        "cumsum",
        "divide",
        "equal",
        "exp",
        "expand_dims",
        "eye",
        "fill",
        "floor",
        "gather",
        "gather_nd",
        "global_variables_initializer",
        "gradients",
        "greater",
        "group",
        "identity",
        "less",
        "linspace",
        "log",
        "logical_and",
        "logical_not",
        "logical_or",
        "matmul",
        "maximum",
        "minimum",
        "multiply",
        "norm",
        "not_equal",
        "one_hot",
        "ones",
        "ones_like",
        "pad",
        "placeholder",
        "pow",
        "range",
        "rank",
        "reduce_all",
        "reduce_any",
        "reduce_max",
        "reduce_mean",
        "reduce_min",
        "reduce_prod",
        "reduce_sum",
        "repeat",
        "reshape",
        "reverse",
        "round",
        "scatter_nd",
        "shape",
        "sigmoid",
        "sign",
        "size",
        "slice",
        "split",
        "sqrt",
        "square",
        "squeeze",
        "stack",
        "stop_gradient",
        "strided_slice",
        "subtract",
        "tanh",
        "tensordot",
        "tile",
        "transpose",
        "truediv",
        "tuple",
        "unique",
        "unstack",
        "variables_initializer",
        "where",
        "zeros",
        "zeros_like",
        "Variable",
        "get_variable",
    ]
)
ROOMS = (
    "nn.",
    "math.",
    "image.",
    "linalg.",
    "random.",
    "losses.",
    "metrics.",
    "signal.",
    "sparse.",
    "strings.",
    "data.Dataset.from_",
    "data.make_",
    "random_",
    "summary.scalar",
    "summary.histogram",
    "summary.merge",
)
"""What surely adds operations to a graph when it is called."""
NOT_OPS = frozenset(
    ["random.set_seed", "random.Generator", "random_uniform_initializer", "random_normal_initializer"]
)


def graph_mode(module: Module) -> bool:
    """Whether a file switches eager execution off, or opens sessions.

    >>> graph_mode(Module("import tensorflow as tf" + chr(10) + "tf.compat.v1.disable_eager_execution()"))
    True
    """
    return any(module.called(call) in SWITCHES | SESSIONS for call in module.calls)


def adds_to_graph(name: str) -> bool:
    """Whether a call of this full name surely adds operations to the graph.

    >>> adds_to_graph("tf.square"), adds_to_graph("tf1.Session")
    (True, False)
    """
    for start in ("tf.", "tf1."):
        if name.startswith(start):
            rest = name[len(start) :]
            return (rest in OPS or rest.startswith(ROOMS)) and rest not in NOT_OPS
    return False


def own_graph(module: Module, loop: ast.AST) -> bool:
    """Whether each round of a loop makes, or empties, the graph that it works in."""
    for one in ast.walk(loop):
        if isinstance(one, ast.Call):
            name = module.called(one)
            last = name.rsplit(".", 1)[-1]
            if last in {"reset_default_graph", "Graph", "clear_session"} and name.startswith(("tf", "keras")):
                return True
            if isinstance(one.func, ast.Attribute) and one.func.attr in {"as_default", "clear_session"}:
                return True
    return False
