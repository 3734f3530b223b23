"""What of Keras is kept: models, layers, and where layers are used."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from penstock.doctor.signals.keras_state import LAYER, NODE, kept


class Layer:
    """Stands for that of Keras."""


class Node:
    """What a layer notes of a model that it is a part of."""


def test_given_no_keras_then_nothing_is_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (LAYER, NODE):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert kept(Layer(), "") is None


def test_given_layers_and_where_they_are_used_then_models_are_built_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, kind in ((LAYER, Layer), (NODE, Node)):
        module = ModuleType(name)
        setattr(module, kind.__name__, kind)
        monkeypatch.setitem(sys.modules, name, module)
    assert kept(Layer(), "") == kept(Node(), "") == "keras-models"
    assert kept([], "") is None
