"""Tensors and modules of torch that user code keeps."""

from __future__ import annotations

import sys


def kept(thing: object, where: str) -> str | None:
    """A tensor without a history, a module, a parameter."""
    del where
    torch = sys.modules.get("torch")
    return "torch-tensors" if torch is not None and isinstance(thing, getattr(torch, "Tensor", ())) else None


def has_more(thing: object) -> bool:
    """A module or a parameter has gradients, and an optimizer may have twice as much; or there is a graph."""
    torch = sys.modules.get("torch")
    if isinstance(thing, getattr(torch, "Tensor", ())):
        return bool(thing.requires_grad)  # type: ignore[attr-defined]
    return isinstance(thing, getattr(getattr(torch, "nn", None), "Module", ()))
