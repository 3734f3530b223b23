"""Tensors of torch that hang on to the graph that made them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any
from weakref import WeakSet

from penstock.doctor.places import Places, names_of
from penstock.doctor.signals import Look, Signal, Suspect
from penstock.doctor.source import growing_lines

DEEPEST = 10_000
"""Longer histories are not followed: torch lets go of nodes that Python has seen one inside of the other, and
the stack would overflow. By then it is seen whether they become longer."""
MARK = "penstock.depth"
"""What a node is told: how many there are from it on."""


class Mark:
    """How long the history is from a node on; it goes with the node."""

    __slots__ = ("__weakref__", "continued", "depth", "moment")
    now = 0
    """The number of the moment."""

    def __init__(self, depth: int, continued: bool) -> None:
        self.depth = depth
        self.continued = continued
        """Whether it goes on from one that was there at an earlier moment."""
        self.moment = Mark.now


_TOO_LONG: WeakSet[Mark] = WeakSet()
"""Histories that are no longer followed, for as long as they are there."""


def kept(thing: object, where: str) -> str | None:
    """A tensor with a history."""
    del where
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(thing, getattr(torch, "Tensor", ())):
        return None
    return "torch-graph" if thing.grad_fn is not None else None  # type: ignore[attr-defined]


def history(thing: object) -> int | None:
    """How long the history of a tensor is, if it has one that is followed."""
    if not type(thing).__module__.startswith("torch") or _TOO_LONG:
        return None
    kind = getattr(sys.modules.get("torch"), "Tensor", ())
    past = thing.grad_fn if isinstance(thing, kind) else None
    return None if past is None else _depth(past, set())


def is_continued(thing: object) -> bool | None:
    """Whether the history of a tensor goes on from one that was measured before, or was made anew."""
    past = getattr(thing, "grad_fn", None)
    known = None if past is None else past.metadata.get(MARK)
    return None if known is None else known.continued


def moment() -> None:
    """Another moment begins."""
    Mark.now += 1


def depth(look: Look) -> float | None:
    """The length of the longest history among tensors that have come since the watch began."""
    kind = getattr(sys.modules["torch"], "Tensor", None)
    longest, seen = 0, set[int]()
    if kind is None or _TOO_LONG:
        return None
    for one in look.objects:
        past = getattr(one, "grad_fn", None) if type(one) is kind else None
        if past is not None:
            longest = max(longest, _depth(past, seen))
            if longest >= DEEPEST or len(seen) > DEEPEST:
                break
    return None if longest >= DEEPEST else float(longest)


def longest(places: Places) -> Suspect:
    """The variable with the longest history, and the line that makes it longer."""
    best, most = Suspect(), (False, 0)
    for tensor, name, file, frame in _tensors(places):
        lines = growing_lines(places, file, name.rpartition(".")[2])
        loops = places.loops(frame)
        inside = [
            line
            for line in lines
            if any(loop.line <= line.line <= loop.end and loop.file == file for loop in loops)
        ]
        length = (bool(lines), 0) if _TOO_LONG else (True, _depth(tensor.grad_fn, set()))
        if length > most:
            place = next(reversed(inside or lines), None)
            said = f"`{name}`, a tensor whose history becomes longer and longer"
            best, most = Suspect(place, (f"`{name}`",), said), length
    return best


def _tensors(places: Places) -> Iterator[tuple[Any, str, str, FrameType]]:
    """What the user's functions at work have by name, themselves or as attributes."""
    kind = sys.modules["torch"].Tensor
    for frame in places.stack(sys._getframe()):
        for name, value in names_of(frame).items():
            if isinstance(value, kind) and value.grad_fn is not None:
                yield value, name, frame.f_code.co_filename, frame
            file = _file_of(type(value))
            for key, one in getattr(value, "__dict__", {}).items() if places.is_user(file) else ():
                if isinstance(one, kind) and one.grad_fn is not None:
                    yield one, f"{name}.{key}", file, frame


def _file_of(kind: type) -> str:
    return str(getattr(sys.modules.get(kind.__module__), "__file__", None) or "<none>")


def _depth(node: Any, seen: set[int]) -> int:
    """How many nodes there are behind one another; counted on from where it was counted before."""
    first, steps, continued = node, 0, False
    while node is not None and steps < DEEPEST:
        known = node.metadata.get(MARK)
        if known is not None:
            if steps == 0:
                return int(known.depth)
            steps += known.depth
            continued = known.continued or known.moment < Mark.now
            break
        if id(node) in seen and steps == 0:
            return 0
        seen.add(id(node))
        steps += 1
        following = [one for one, _ in node.next_functions if one is not None]
        node = max(following, key=_width) if following else None
    mark = first.metadata[MARK] = Mark(steps, continued)
    if steps >= DEEPEST:
        _TOO_LONG.add(mark)
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
