"""How to come to a thing again by the way that led to it: the names on it may have been bound anew since."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from types import FrameType, FunctionType
from typing import Any

from penstock.doctor.inside import tables_of
from penstock.doctor.walk import Node

Reader = Callable[[FrameType], object]
Step = Callable[[Any], object]
REPLACED = (tuple, str, bytes)
"""What is never made longer, but replaced by something longer."""


def way_to(node: Node) -> Reader:
    """Reads what the way to a node leads to now, seen from a line; None where that cannot be told."""
    steps: list[Step] = []
    at = node
    while at.above is not None:
        steps.append(_step(at.above.thing, at.thing, at.label))
        at = at.above
    first = _local(at, not steps) if at.scope else _global(at)
    steps.reverse()

    def read(frame: FrameType) -> object:
        thing = first(frame)
        for step in steps:
            if thing is None:
                return None
            thing = step(thing)
        return thing

    return read


def _global(root: Node) -> Reader:
    """A name of a module, or an object that is kept elsewhere."""
    name, thing, file = root.label, root.thing, root.file

    def read(frame: FrameType) -> object:
        at: FrameType | None = frame
        while at is not None:
            if at.f_code.co_filename == file:
                return at.f_globals.get(name, thing)
            at = at.f_back
        return thing

    return (lambda _: thing) if root.met else read


def _local(root: Node, alone: bool) -> Reader:
    """A name of a function at work: read at its own lines, and at those of others as it was last."""
    name, scope, file = root.label, root.scope, root.file
    last = [None if alone and _is_replaced(root.thing) else root.thing]

    def read(frame: FrameType) -> object:
        if frame.f_code.co_name != scope or frame.f_code.co_filename != file:
            return last[0]
        now = frame.f_locals.get(name)
        last[0] = None if alone and _is_replaced(now) else now
        return now

    return read


def _is_replaced(thing: object) -> bool:
    return isinstance(thing, REPLACED) or hasattr(thing, "dtype")


def _step(holder: object, thing: object, label: str) -> Step:
    """From what holds a thing to the thing."""
    for number, table in enumerate(tables_of(holder)):
        name = label[1:]
        key = name if table.get(name) is thing else next((k for k, v in table.items() if v is thing), None)
        if key is not None:
            return partial(_in_table, number, key)
    if isinstance(holder, FunctionType) and label.strip("<>") in holder.__code__.co_freevars:
        cell = (holder.__closure__ or ())[holder.__code__.co_freevars.index(label.strip("<>"))]
        return lambda _: cell.cell_contents
    if isinstance(holder, list | tuple | deque):
        place = next((i for i, one in enumerate(holder) if one is thing), None)
        if place is not None:
            return partial(_in_sequence, place)
    if isinstance(holder, ContextVar):
        return lambda now: now.get(None)
    if label.startswith(".") and label[1:].isidentifier() and not isinstance(holder, FunctionType):
        return lambda now: getattr(now, label[1:], None)  # a slot, or the gradient of a tensor
    return lambda _: thing


def _in_table(number: int, key: object, holder: object) -> object:
    tables = tables_of(holder)
    return tables[number].get(key) if number < len(tables) else None


def _in_sequence(place: int, holder: Any) -> object:
    return holder[place] if len(holder) > place else None
