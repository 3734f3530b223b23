"""Tensors and modules of torch that user code keeps."""

from __future__ import annotations

import sys


def kept(thing: object, where: str) -> str | None:
    """A tensor without a history, a module, a parameter."""
    del where
    torch = sys.modules.get("torch")
    return "torch-tensors" if torch is not None and isinstance(thing, getattr(torch, "Tensor", ())) else None
