"""Which functions have no side effects, as far as their bytecode tells."""

from __future__ import annotations

import functools
import math
import operator
import random
import re
import time
import types
from collections import namedtuple
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import penstock as ps
from penstock.blocks.structure import structure_of
from penstock.functions.purity import plain_namedtuples, purity

TABLE = np.arange(5)
OBJECTS = np.array([[], {}], object)
SEEN: list[Any] = []
NUMBERS = {"a": 1}
FEATURES = {"a": ps.io.FixedLenFeature([], "bytes")}
SCALE = 3
PAIR = (1, 2.5)
Plain = namedtuple("Plain", "a b")


class Typed(NamedTuple):
    a: Any
    b: Any


class Clever(NamedTuple):
    a: Any

    def twice(self) -> Any:
        SEEN.append(self.a)
        return self.a


class Callable_:  # noqa: N801
    def __call__(self, x: Any) -> Any:
        return x

    def method(self, x: Any) -> Any:
        return x


def one_more(x: Any) -> Any:
    return x + 1


def makes_a_dict(x: Any) -> Any:
    out = {}
    out["a"] = x
    return out


def loops(x: Any) -> Any:
    total = 0
    for i in range(3):
        total += x[i]
    return [part * total for part in (x, x)], [y for y in x if y is not None]


def guards(x: Any) -> Any:
    if x.shape[0] > 3:
        raise ValueError("too long")
    with np.errstate(divide="ignore"):
        return x / 0


def catches(x: Any) -> Any:
    try:
        return np.linalg.inv(x)
    except ValueError:
        return x


def cleans_up(x: Any) -> Any:
    try:
        y = np.linalg.inv(x)
    finally:
        y = x
    return y


def catches_inside(x: Any) -> Any:
    def inner(y: Any) -> Any:
        try:
            return y[9]
        except IndexError:
            return y

    return inner(x)


def nests(x: Any) -> Any:
    scale = SCALE

    def inner(y: Any) -> Any:
        return y * scale + one_more(y)

    return inner(x)


def closes_over(value: Any) -> Callable[..., Any]:
    return lambda x: x * value


def counts() -> Callable[..., Any]:
    seen = 0

    def function(x: Any) -> Any:
        nonlocal seen
        seen += 1
        return x

    return function


def sets_a_global(x: Any) -> Any:
    global SCALE
    SCALE = x
    return x


def sets_an_item_of_a_table(x: Any) -> Any:
    table = TABLE
    table[0] = 1
    return x


def adds_to_a_table(x: Any) -> Any:
    table = TABLE
    table += 1
    return x


def sets_an_attribute(x: Any) -> Any:
    x.flag = 1
    return x


def imports(x: Any) -> Any:
    import random

    return x + random.random()


def yields(x: Any) -> Any:
    yield x


def remembers(x: Any, seen: list[Any] = []) -> Any:  # noqa: B006
    return x


def has_an_impure_part(x: Any) -> Any:
    def inner(y: Any) -> Any:
        print(y)
        return y

    return inner(x)


def calls_an_impure_one(x: Any) -> Any:
    return has_an_impure_part(x)


settings = types.ModuleType("settings")
vars(settings).update(SHAPE=(2, 2), TABLE=TABLE, SEEN=[], helper=one_more, impure=has_an_impure_part)

PURE: dict[str, Any] = {
    "arithmetic": lambda x: x * 2 + SCALE,
    "numpy": lambda x: np.where(x > 0, x, np.pi),
    "methods": lambda x: x.astype(np.float32) / 255,
    "a table that is read": lambda x: x + TABLE,
    "a constant tuple": lambda x: x.reshape(PAIR),
    "another function": lambda x: one_more(x),
    "a dict": makes_a_dict,
    "loops": loops,
    "guards": guards,
    "nests": nests,
    "a closure over a number": closes_over(3),
    "a closure over an array": closes_over(TABLE),
    "a closure over a function": closes_over(one_more),
    "a named tuple": lambda x: Plain(x, 1),
    "a typed named tuple": lambda x: Typed(x, b=1),
    "partial": functools.partial(operator.add, 1),
    "partial of a function": functools.partial(lambda n, x: n * x, 3),
    "builtins": lambda x: (max(x.shape), len(x), abs(x), sum(x), tuple(x)),
    "math": lambda x: x * math.sqrt(2),
    "a ufunc": np.sqrt,
    "linalg": lambda x: np.linalg.norm(x),
    "random": lambda x: x + ps.random.normal(),
    "image": ps.image.random_flip_left_right,
    "a dtype": lambda x: x.astype(np.dtype("f4")),
    "defaults": lambda x, n=3: x * n,
    "names of a module that arrays have too": lambda x: np.sort(x) + np.partition(x, 1) + TABLE,
    "a resized image": lambda x: ps.io.parse_single_example(ps.image.resize(x, (2, 2)), FEATURES),
    "a module's constant": lambda x: x.reshape(settings.SHAPE),
    "a module's function": lambda x: settings.helper(x),
}
IMPURE: dict[str, tuple[Any, str]] = {
    "print": (lambda x: print(x), "print"),
    "append": (lambda x: SEEN.append(x), "SEEN"),
    "a dict of the module": (lambda x: NUMBERS["a"], "NUMBERS"),
    "nonlocal": (counts(), "sets seen"),
    "global": (sets_a_global, "sets the global"),
    "items of a table": (sets_an_item_of_a_table, "sets items"),
    "in place": (adds_to_a_table, r"\+="),
    "out": (lambda x: np.add(x, 1, out=TABLE), "out="),
    "sort": (lambda x: (TABLE.sort(), x), "sort"),
    "sort of a module's table": (lambda x: (settings.TABLE.sort(), x), "sort"),
    "items of a table by a ufunc": (lambda x: np.add.at(TABLE, 0, 1), "at"),
    "an attribute of what a module gives": (lambda x: np.negative(TABLE).resize(3), "resize"),
    "features that are dropped": (lambda x: (x, FEATURES.pop("a")), "pop"),
    "attribute": (sets_an_attribute, "sets the attribute"),
    "import": (imports, "IMPORT_NAME"),
    "generator": (yields, "generator"),
    "mutable default": (remembers, "default"),
    "except": (catches, "catches handles exceptions"),
    "finally": (cleans_up, "cleans_up handles exceptions"),
    "except in an inner function": (catches_inside, "inner handles exceptions"),
    "inner": (has_an_impure_part, "print"),
    "called": (calls_an_impure_one, "print"),
    "np.random": (lambda x: x + np.random.rand(), "np.random"),
    "np.load": (lambda x: np.load("file"), "np.load"),
    "np.copyto": (lambda x: np.copyto(TABLE, x), "np.copyto"),
    "np.empty": (lambda x: np.empty(3), "np.empty"),
    "isinstance": (lambda x: isinstance(x, np.ndarray), "isinstance"),
    "type": (lambda x: type(x)(1), "type"),
    "getattr": (lambda x: x.__class__, "__class__"),
    "objects": (lambda x: OBJECTS[0], "array of objects"),
    "a list in a closure": (closes_over([]), "value"),
    "a bound method": ("x".upper, "nothing is known"),
    "a method": (Callable_().method, "nothing is known"),
    "an object": (Callable_(), "nothing is known"),
    "a generator of NumPy": (np.random.default_rng(0).normal, "nothing is known"),
    "a named tuple with methods": (lambda x: Clever(x), "Clever"),
    "a dataset": (lambda x: ps.Dataset.range(3), "Dataset"),
    "missing": (lambda x: no_such_name(x), "not set"),  # type: ignore[name-defined]  # noqa: F821
    "a module": (lambda x: one_more(np), "as a value"),
    "a module's list": (lambda x: settings.SEEN.append(x), "settings.SEEN"),
    "a module's impure function": (lambda x: settings.impure(x), "print"),
    "a module's clock": (lambda x: x + time.time(), "time.time"),
    "the other random": (lambda x: x + random.random(), "random.random"),
    "a module's missing name": (lambda x: settings.nothing, "uses the module settings"),
    "partial of a list": (functools.partial(operator.add, SEEN), "nothing is known"),
    "eval": (lambda x: eval("x"), "eval"),
    "open": (lambda x: open("/dev/null"), "open"),  # noqa: SIM115, PTH123
}


@pytest.mark.parametrize("name", PURE)
def test_given_no_side_effect_then_it_is_pure(name: str) -> None:
    verdict = purity(PURE[name])
    assert verdict.pure, verdict.why_not


@pytest.mark.parametrize("name", IMPURE)
def test_given_anything_else_then_it_is_not_and_the_reason_is_said(name: str) -> None:
    function, reason = IMPURE[name]
    verdict = purity(function)
    assert not verdict.pure
    assert re.search(reason, verdict.why_not), verdict.why_not


def test_when_a_global_is_bound_anew_then_the_verdict_is_found_anew() -> None:
    namespace: dict[str, Any] = {"helper": one_more}
    exec("def function(x): return helper(x)", namespace)
    function = namespace["function"]
    assert purity(function).pure
    assert purity(function) is purity(function)
    namespace["helper"] = print
    assert not purity(function).pure


def test_given_named_tuples_then_only_those_without_code_of_their_own_are_plain() -> None:
    assert plain_namedtuples(structure_of({"a": Plain(1, Typed(2, 3))}))
    assert not plain_namedtuples(structure_of((1, {"a": Clever(2)})))


def test_when_identity_is_asked_for_then_the_verdict_says_so() -> None:
    assert purity(lambda x: 1 if x is None else 2).compares_identity
    assert not purity(lambda x: x * 2).compares_identity


def test_when_a_name_of_a_module_is_bound_anew_then_the_verdict_is_found_anew() -> None:
    module = types.ModuleType("module")
    vars(module)["helper"] = one_more
    function = eval("lambda x: module.helper(x)", {"module": module})
    assert purity(function).pure
    vars(module)["helper"] = has_an_impure_part
    assert not purity(function).pure
