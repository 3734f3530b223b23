"""What a way leads to is read anew: names may have been bound to something else since."""

from __future__ import annotations

import sys
from collections import ChainMap
from contextvars import ContextVar
from types import FrameType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from penstock.doctor.paths import measured
from penstock.doctor.places import Places
from penstock.doctor.walk import Node, World
from penstock.doctor.ways import way_to


def below(root: Node, *labels: str) -> Node:
    """The node that labels lead to from a root."""
    world, node = World(Places(__file__)), root
    for label in labels:
        found = dict(reversed(list(world.members(node.thing))))
        node = Node(found[label], 0, node, label, node.depth + 1)
    return node


def local(name: str, thing: object) -> Node:
    return Node(thing, 0, None, name, 0, 0, "run", __file__)


class Slotted:
    __slots__ = ("values",)


@pytest.mark.parametrize(
    ("first", "second", "labels"),
    [
        (SimpleNamespace(log=[1]), SimpleNamespace(log=[1, 2]), (".log",)),
        ({"x": [1]}, {"x": [1, 2]}, ("['x']",)),
        ([[1]], [[1, 2]], ("[0]",)),
        (SimpleNamespace(a={"x": (1,)}), SimpleNamespace(a={"x": (1, 2)}), (".a", "['x']")),
        (ChainMap({}), ChainMap({}, {}), (".maps",)),
    ],
)
def test_given_a_name_that_is_bound_anew_then_its_way_leads_to_what_it_has_now(
    first: Any, second: Any, labels: tuple[str, ...]
) -> None:
    def run() -> list[int]:
        kept = first
        read = way_to(below(local("kept", kept), *labels))
        seen = [len(read(sys._getframe()))]  # type: ignore[arg-type]
        kept = second
        return [*seen, len(read(sys._getframe()))]  # type: ignore[arg-type]

    assert run() == [1, 2]


def test_given_a_slot_then_it_is_read_anew() -> None:
    one = Slotted()
    one.values = [1]  # type: ignore[attr-defined]
    read = way_to(below(local("one", one), ".values"))
    one.values = [1, 2]  # type: ignore[attr-defined]
    assert read(sys._getframe()) == [1, 2]


def test_given_a_tensor_of_a_module_then_it_is_called_as_an_attribute_and_read_anew() -> None:
    layer = torch.nn.Linear(2, 2)
    layer.register_buffer("bank", torch.zeros(1))
    read = way_to(below(local("layer", layer), ".bank"))
    layer.bank = torch.cat([layer.bank, layer.bank])
    assert len(read(sys._getframe())) == 2  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore:Using backward")
def test_given_a_gradient_with_a_history_then_it_is_met_and_read_anew() -> None:
    weight = torch.nn.Parameter(torch.ones(3))
    (weight**3).sum().backward(create_graph=True)
    node = below(local("weight", weight), ".grad")
    read, (key, before) = way_to(node), measured(node)
    (weight**3).sum().backward(create_graph=True)
    (weight**3).sum().backward(create_graph=True)
    _, after = measured(Node(read(sys._getframe()), 0, None, "", 0))
    assert key.startswith("history ")
    assert before is not None and after is not None and after > before
    weight.grad = None  # it and its history refer to each other


def test_given_a_context_variable_then_what_it_has_now_is_read() -> None:
    trace: ContextVar[tuple[int, ...]] = ContextVar("trace", default=(1,))
    read = way_to(below(local("trace", trace), ".get()"))
    trace.set((1, 2))
    assert read(sys._getframe()) == (1, 2)


def inner(read: Any) -> object:
    return read(sys._getframe())


def test_given_an_array_that_is_replaced_then_lines_of_other_functions_say_nothing_of_it() -> None:
    def run() -> tuple[object, object]:
        rows = np.zeros(1)
        read = way_to(local("rows", rows))
        rows = np.zeros(2)
        return inner(read), len(read(sys._getframe()))  # type: ignore[arg-type]

    assert run() == (None, 2)


def test_given_a_list_that_is_handed_on_then_lines_of_other_functions_read_it() -> None:
    kept: list[int] = []
    read = way_to(local("kept", kept))
    kept.append(1)
    assert inner(read) == [1]


def test_given_what_a_library_keeps_then_it_is_read_as_it_is() -> None:
    names = {"a": 1}
    read = way_to(Node(names, 0, None, "logging.names", 0, met=True))
    frame: FrameType = sys._getframe()
    assert read(frame) is names
