"""What draws at random."""

from __future__ import annotations

import ast

from penstock.doctor.lint.module import Frame, Module

STARTS = (
    "tf.random.",
    "tf.random_",
    "tf1.random_",
    "tf.image.random_",
    "tf.image.stateless_random_",
    "tf.image.sample_distorted",
    "penstock.random.",
    "penstock.image.random_",
    "np.random.",
    "random.",
)
NOT_DRAWN = frozenset(
    ["seed", "default_rng", "Generator", "PRNGKey", "set_seed", "RandomState", "get_state", "getstate"]
)
LAYERS = ("keras.layers.Random", "keras.layers.experimental.preprocessing.Random")
PYTHON = ("np.random.", "random.")
"""Draws that a traced function makes once, when it is traced."""


def is_draw(name: str, starts: tuple[str, ...] = STARTS) -> bool:
    """Whether a function of this full name draws at random.

    >>> is_draw("tf.image.random_crop"), is_draw("np.random.seed")
    (True, False)
    """
    return name.startswith(starts) and name.rsplit(".", 1)[-1] not in NOT_DRAWN


def draws(
    module: Module, function: ast.expr, frame: Frame, starts: tuple[str, ...] = STARTS, depth: int = 4
) -> str:
    """What a function draws with, as it is written; "" if it draws nothing that can be seen.

    >>> module = Module("import random" + chr(10) + "f = lambda x: x * random.random()")
    >>> draws(module, module.tree.body[-1].value, {})
    'random.random()'
    """
    if depth <= 0:
        return ""
    for one, inner in module.origins(function, frame):
        if (
            isinstance(one, ast.Call)
            and module.called(one) == "functools.partial"
            and one.args
            and (found := draws(module, one.args[0], inner, starts, depth - 1))
        ):
            return found
        body = module.function(one)
        if body is None:
            continue
        for node in module.inside(body):
            if not isinstance(node, ast.Call):
                continue
            name = module.called(node)
            above = module.parents[node]
            if isinstance(above, ast.keyword) and above.arg == "seed":
                continue
            if is_draw(name, starts):
                return f"{ast.unparse(node.func)}()"
            if not name and (found := _further(module, node, inner, starts, depth)):
                return found
    return ""


def _further(module: Module, node: ast.Call, frame: Frame, starts: tuple[str, ...], depth: int) -> str:
    """A function of this file that the function calls, or a layer that was made before."""
    if module.function(node.func) is not None:
        return draws(module, node.func, frame, starts, depth - 1)
    if isinstance(node.func, ast.Name) and starts is STARTS:
        for one, _ in module.origins(node.func, frame):
            made = [part for part in ast.walk(one) if isinstance(part, ast.Call)]
            for part in made if isinstance(one, ast.Call) and module.called(one).startswith("keras.") else ():
                if module.called(part).startswith(LAYERS):
                    return f"{ast.unparse(part.func)}()"
    return ""
