"""What a walk from the user's names looks at, and what it leaves alone."""

from __future__ import annotations

import ast
import json
import sys
from collections import Counter, defaultdict
from contextvars import ContextVar
from functools import cache, partial
from linecache import getline
from types import ModuleType, SimpleNamespace

import pytest

from penstock.doctor.paths import _inside, cache_line
from penstock.doctor.places import Places
from penstock.doctor.sizes import deep_bytes, length_of
from penstock.doctor.walk import MODULES, World


class Lazy(ModuleType):
    """A module that loads on demand, as TensorFlow's is."""


class Callback:
    """An object of the user's that only a library refers to."""

    def __init__(self) -> None:
        self.seen = ["of a callback"]


def world() -> World:
    return World(Places(__file__))


@pytest.mark.parametrize(
    "thing",
    [Lazy("lazy"), json, json.dumps, ast.NodeVisitor],
    ids=["lazy module", "module", "function", "class"],
)
def test_given_modules_and_a_librarys_functions_and_classes_then_they_are_not_looked_at(
    thing: object,
) -> None:
    assert not world().open(thing)


@pytest.mark.parametrize(
    "thing", [world, Callback, Callback(), [1]], ids=["function", "class", "own", "list"]
)
def test_given_what_is_the_users_then_it_is_looked_at(thing: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "__file__", __file__)
    assert world().open(thing)


def test_given_an_object_that_no_name_leads_to_then_its_attributes_are_called_by_its_class() -> None:
    hidden = [Callback()]
    here = world()
    here.meet(hidden, Counter({f"{__name__}.Callback": 1, "builtins.list": 1}))
    assert [(node.label, node.thing) for node in here.objects()] == [("Callback", hidden[0])]
    everything = here.walk(10**6)  # a process with many tests has much to walk through
    ways = [node.path() for node in everything if node.thing is hidden[0].seen]
    assert len(ways) == 1  # by whatever name comes first
    hidden.clear()
    assert list(here.objects()) == []


def test_given_a_call_that_is_bound_to_a_list_then_the_list_is_met() -> None:
    inner = ["of a partial"]
    bound = [thing for _, thing in world().members(partial(print, inner))]
    assert any(inner is one for thing in bound if isinstance(thing, tuple) for one in thing)


def test_given_an_object_of_the_users_deep_inside_of_a_librarys_then_its_attributes_are_met() -> None:
    model = SimpleNamespace(a=SimpleNamespace(a=SimpleNamespace(a=SimpleNamespace(layer=Callback()))))
    wanted = id(model.a.a.a.layer.seen)  # no name leads to it but that of the model
    met = [node for node in world().walk(10**6) if id(node.thing) == wanted]
    assert [node.path() for node in met] == ["model.a.a.a.layer.seen"]


def test_given_a_call_that_is_bound_again_and_again_then_it_is_merged_as_if_nobody_looked() -> None:
    first = partial(print, 1)
    here = world()
    assert [label for label, _ in here.members(first)] == [".func", ".args", ".keywords"]
    assert length_of(first) is None and deep_bytes(first) > 0
    assert partial(first, 2).args == (1, 2)


def test_given_a_context_variable_then_what_it_has_is_met() -> None:
    trace: ContextVar[tuple[str, ...]] = ContextVar("trace")
    assert dict(world().members(trace)) == {".get()": None}
    trace.set(("a", "b"))
    assert dict(world().members(trace)) == {".get()": ("a", "b")}


def test_given_a_list_in_a_defaultdict_then_it_is_not_inside_of_a_librarys_object() -> None:
    values: defaultdict[str, list[str]] = defaultdict(list, loss=["of a defaultdict"])
    queue = SimpleNamespace(items=["of a namespace"])
    met = {
        node.path(): node.foreign
        for node in world().walk(10**6)
        if node.thing is values["loss"] or node.thing is queue.items
    }
    assert met == {"values['loss']": 0, "queue.items": 1}


def test_given_a_script_that_makes_modules_then_python_has_them_and_some_are_looked_into(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for number in range(MODULES + 50):
        made = ModuleType(f"made_{number}")
        made.__file__ = __file__
        monkeypatch.setitem(sys.modules, made.__name__, made)
    here = world()
    assert len(here.user_modules()) <= MODULES + 1
    assert [node.path() for node in here.walk(10) if node.thing is sys.modules] == ["sys.modules"]


def test_given_a_counter_of_many_then_no_more_of_it_is_looked_at_than_of_a_dict() -> None:
    many = {(number,): [number] for number in range(1000)}
    assert len(list(world().members(many))) < 50
    assert len(list(world().members(defaultdict(list, many)))) < 50
    assert len(list(world().members(Counter(range(1000))))) < 50


class Cached:
    @staticmethod
    @cache
    def of_text(text: str) -> str:
        return text


def test_given_a_cache_in_a_static_method_then_it_is_met_and_its_line_is_the_one_that_caches() -> None:
    method = vars(Cached)["of_text"]
    assert [one for _, one in world().members(method)] == [Cached.of_text]
    code = Cached.of_text.__wrapped__.__code__
    assert getline(__file__, cache_line(code)).strip() == "@cache"


@pytest.mark.parametrize("record", [("it",), (3, {"w": "it"}), {"params": [["it"]]}, [3, ("it", 4)]])
def test_given_records_then_what_is_in_them_is_seen_some_levels_deep(record: object) -> None:
    assert "it" in _inside(record)
