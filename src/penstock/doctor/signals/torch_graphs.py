"""Tensors of torch that hang on to the graph that made them."""

from __future__ import annotations

import sys

from penstock.doctor.signals import Look, Signal

DEEPEST = 2000


def kept(thing: object, where: str) -> str | None:
    """A tensor with a history."""
    del where
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(thing, getattr(torch, "Tensor", ())):
        return None
    return "torch-graph" if thing.grad_fn is not None else None  # type: ignore[attr-defined]


def depth(look: Look) -> float | None:
    """The length of the longest history among tensors that have come since the watch began."""
    kind = getattr(sys.modules["torch"], "Tensor", None)
    if kind is None:
        return None
    longest = 0
    seen: set[int] = set()
    for one in look.objects:
        history = getattr(one, "grad_fn", None) if type(one) is kind else None
        if history is not None:
            longest = max(longest, _depth(history, seen))
            if longest >= DEEPEST or len(seen) > DEEPEST:
                break
    return float(longest)


def _depth(node: object, seen: set[int]) -> int:
    steps = 0
    while node is not None and steps < DEEPEST:
        if id(node) in seen and steps == 0:
            return 0
        seen.add(id(node))
        steps += 1
        following = [one for one, _ in getattr(node, "next_functions", ()) if one is not None]
        node = max(following, key=_width) if following else None
    return steps


def _width(node: object) -> int:
    """The branch of a recurrent history is the one that goes on: it has inputs of its own."""
    return len(getattr(node, "next_functions", ()))


SIGNALS = [Signal("torch.depth", "torch-graph", "nodes of a graph", 20, depth, needs="torch", objects=True)]
