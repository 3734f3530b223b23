"""Keras models as a file makes them."""

from __future__ import annotations

import ast

from penstock.doctor.lint.flow import Definition
from penstock.doctor.lint.module import Module

MAKERS = frozenset(
    f"keras.{room}{name}"
    for room in ("", "models.")
    for name in ("Sequential", "Model", "Functional", "load_model", "model_from_json", "clone_model")
)


def makes_model(module: Module, node: ast.expr) -> bool:
    """Whether an expression gives a new Keras model for certain, here or through functions of this file."""
    made = [one for one, _ in module.origins(node)]
    return bool(made) and all(isinstance(one, ast.Call) and _maker(module, one) for one in made)


def _maker(module: Module, call: ast.Call) -> bool:
    name = module.called(call)
    if name in MAKERS or (name.startswith("keras.applications.") and name.rsplit(".", 1)[-1][:1].isupper()):
        return True
    local = module.local_class(call.func)
    return local is not None and any(module.name(base) in MAKERS for base in local.bases)


def model_definitions(module: Module, node: ast.expr) -> frozenset[Definition]:
    """The assignments that a name of a Keras model comes from; none if it is not sure to be a model."""
    if isinstance(node, ast.Name) and makes_model(module, node):
        return module.definitions(node)
    return frozenset()
