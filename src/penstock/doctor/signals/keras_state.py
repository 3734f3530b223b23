"""Keras keeps a count of every name it has given, and models and layers that user code keeps."""

from __future__ import annotations

import sys

LAYER = "keras.src.layers.layer"
MADE = {"keras-models": (LAYER, "Layer")}


def kept(thing: object, where: str) -> str | None:
    """Models and layers."""
    del where
    module = sys.modules.get(LAYER)
    return "keras-models" if module is not None and isinstance(thing, module.Layer) else None
