"""Keras keeps a count of every name it has given, and models and layers that user code keeps, and of each
layer where it was put to use."""

from __future__ import annotations

import sys

LAYER = "keras.src.layers.layer"
NODE = "keras.src.ops.node"
"""What a layer keeps of each model that it is a part of."""
MADE = {"keras-models": (LAYER, "Layer")}


def kept(thing: object, where: str) -> str | None:
    """Models and layers, and where layers are used."""
    del where
    kinds = (getattr(sys.modules.get(LAYER), "Layer", None), getattr(sys.modules.get(NODE), "Node", None))
    return "keras-models" if isinstance(thing, tuple(one for one in kinds if one is not None)) else None


def has_more(thing: object) -> bool:
    """A model or a layer has functions, and an optimizer more of its weights."""
    return isinstance(thing, getattr(sys.modules.get(LAYER), "Layer", ()))
