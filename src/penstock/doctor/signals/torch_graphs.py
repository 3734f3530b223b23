"""Tensors of torch that hang on to the graph that made them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from penstock.doctor.places import Places, names_of
from penstock.doctor.signals import Look, Signal, Suspect
from penstock.doctor.source import growing_lines, name_in

DEEPEST = 2000
"""So many nodes are counted at a time."""
MARK = "penstock.depth"
"""What a node is told: how many there are from it on."""


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
            if len(seen) > DEEPEST:
                break
    return float(longest)


def longest(places: Places) -> Suspect:
    """The variable with the longest history, and the line that makes it longer."""
    found = max(_tensors(places), key=lambda one: _depth(one[0].grad_fn, set()), default=None)
    if found is None:
        return Suspect()
    _, name, frame = found
    lines = growing_lines(places, frame.f_code.co_filename, name_in((name,)))
    loops = places.loops(frame)
    inside = [line for line in lines if any(loop.line <= line.line <= loop.end for loop in loops)]
    place = next(reversed(inside or lines), None)
    return Suspect(place, (f"`{name}`",), f"`{name}`, a tensor whose history becomes longer and longer")


def _tensors(places: Places) -> Iterator[tuple[Any, str, FrameType]]:
    """What the user's functions at work have by name, themselves or as attributes."""
    kind = sys.modules["torch"].Tensor
    for frame in places.stack(sys._getframe()):
        for name, value in names_of(frame).items():
            inside = getattr(value, "__dict__", {}).items() if places.is_user(_file_of(type(value))) else ()
            for label, one in [(name, value), *((f"{name}.{key}", one) for key, one in inside)]:
                if isinstance(one, kind) and one.grad_fn is not None:
                    yield one, label, frame


def _file_of(kind: type) -> str:
    return str(getattr(sys.modules.get(kind.__module__), "__file__", None) or "<none>")


def _depth(node: Any, seen: set[int]) -> int:
    """How many nodes there are behind one another; counted on from where it was counted before."""
    first, steps = node, 0
    while node is not None and steps < DEEPEST:
        known = node.metadata.get(MARK)
        if known is not None:
            steps += known
            break
        if id(node) in seen and steps == 0:
            return 0
        seen.add(id(node))
        steps += 1
        following = [one for one, _ in node.next_functions if one is not None]
        node = max(following, key=_width) if following else None
    first.metadata[MARK] = steps
    return steps


def _width(node: object) -> int:
    """The branch of a recurrent history is the one that goes on: it has inputs of its own."""
    return len(getattr(node, "next_functions", ()))


SIGNALS = [
    Signal(
        "torch.depth",
        "torch-graph",
        "nodes of a graph",
        20,
        depth,
        needs="torch",
        objects=True,
        suspect=longest,
    )
]
