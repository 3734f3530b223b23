"""What functions change or draw that nobody would see from another process."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from random import randint as between
from random import random as drawn
from typing import Any

import numpy as np
import pytest
from numpy.random import rand

from penstock.functions.effects import effects

counted = 0


def counts(x: Any) -> Any:
    global counted
    counted += 1
    return x


def by_loop(x: Any) -> int:
    total = 0
    for i in range(10):
        total += i
    return int(x) + total


class Running:
    def __init__(self) -> None:
        self.total = 0

    def __call__(self, x: Any) -> Any:
        self.total += int(x)
        return x

    def add(self, x: Any) -> Any:
        self.total += int(x)
        return x


generator = np.random.default_rng(1)
table = {1: 2}


class Draws:
    def __init__(self) -> None:
        self.rng, self.seen, self.table = np.random.default_rng(0), list[int](), {1: 2}

    def __call__(self, x: Any) -> Any:
        return x + self.rng.normal()

    def through_another(self, x: Any) -> Any:
        return self(x) if x else self.inner(x)

    def inner(self, x: Any) -> Any:
        return x + self.rng.normal()

    def keeps(self, x: Any) -> Any:
        self.seen.append(int(x))
        return x

    def reads(self, x: Any) -> Any:
        return x + self.table.get(1, 2) + self.pure(x)

    def pure(self, x: Any) -> Any:
        return x


class Sorted:
    def sort(self) -> int:
        return 1

    def add(self, x: Any) -> Any:
        return x


def puts(row: dict[str, Any]) -> Any:
    row["y"] = 1
    return row["x"]


class Composed:
    def __init__(self) -> None:
        self.function, self.sorted = puts, Sorted()

    def __call__(self, x: Any) -> Any:
        return self.function({"x": x}) + self.sorted.sort() + self.sorted.add(x)


class Slotted:
    __slots__ = ("size",)

    def __init__(self) -> None:
        self.size = 3

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __call__(self, x: Any) -> Any:
        return x * self.size


def by_default(x: Any, rng: Any = generator) -> Any:
    return x + rng.normal()


def by_keyword(x: Any, *, draw: Any = random.random) -> Any:
    return x + draw()


def sets_item(x: Any) -> Any:
    table[int(x) + 1] = 3
    return x


def sets_item_of_local(x: Any) -> Any:
    out = np.zeros(3)
    out[int(x) % 3] = table[1]
    return out


def sets_attribute_of_local(x: Any) -> Any:
    made = Running.__new__(Running)
    made.total = int(x)
    return made.total


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (counts, "sets the global counted"),
        (Running(), "sets the attribute total"),
        (Running().add, "sets the attribute total"),
        (lambda x: generator.normal(), "generator draws numbers"),
        (lambda x: np.random.rand(), "np.random"),
        (lambda x: print(x), "print shows something"),
        (lambda x: table.update({int(x): 1}), "calls table.update()"),
        (sets_item, "sets items of table"),
        (sets_item_of_local, ""),
        (sets_attribute_of_local, ""),
        (lambda x: counts(x), "sets the global counted"),
        (Draws(), "self.rng draws numbers"),
        (Draws().through_another, "self.rng draws numbers"),
        (Draws().keeps, "calls self.seen.append()"),
        (Draws().reads, ""),
        (Composed(), ""),
        pytest.param(Slotted(), "", id="slotted"),
        (by_default, "default draws numbers"),
        (by_keyword, "default draws numbers"),
        (lambda x: drawn() + x, "drawn draws numbers"),
        (lambda x: between(1, 2), "between draws numbers"),
        (lambda x: rand(), "rand draws numbers"),
        (lambda x: hash(str(x)), "in another process"),
    ],
)
def test_what_others_would_not_see_from_another_process_is_found(
    function: Callable[..., Any], why: str
) -> None:
    assert why in effects([function])
    assert why or not effects([function])


@pytest.mark.parametrize(
    "function", [by_loop, zlib.compress, lambda x: table[1], np.sin, lambda x: sorted([x])[0]]
)
def test_what_leaves_no_trace_may_go(function: Callable[..., Any]) -> None:
    assert effects([function]) == ""
