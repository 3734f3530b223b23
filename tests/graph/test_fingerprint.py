"""What tells two pipelines apart."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.graph.fingerprint import fingerprint, first_difference


def scaled(x: Any, by: int = 2) -> Any:
    return x * by


class Scale:
    def __init__(self, by: int) -> None:
        self.by = by

    def __call__(self, x: Any) -> Any:
        return x * self.by

    def method(self, x: Any) -> Any:
        return x + self.by


def closing_over(value: Any) -> Callable[[Any], Any]:
    return lambda x: x + value


def mapped(function: Any) -> ps.Dataset:
    return ps.Dataset.range(5).map(function)


SAME: dict[str, Callable[[], ps.Dataset]] = {
    "plain": lambda: ps.Dataset.range(5).shuffle(3).batch(2),
    "function": lambda: mapped(scaled),
    "lambda": lambda: mapped(lambda x: x * 3 if x > 2 else -x),
    "closure": lambda: mapped(closing_over(np.arange(4))),
    "partial": lambda: mapped(partial(scaled, by=3)),
    "object": lambda: mapped(Scale(4)),
    "method": lambda: mapped(Scale(4).method),
    "arrays": lambda: ps.Dataset.from_tensor_slices({"a": np.arange(10), "b": np.ones((10, 2))}),
    "ufunc": lambda: mapped(np.negative),
}


@pytest.mark.parametrize("name", SAME)
def test_given_the_same_pipeline_twice_then_the_fingerprints_are_equal(name: str) -> None:
    one, two = fingerprint(SAME[name]().op), fingerprint(SAME[name]().op)
    assert one == two
    assert first_difference(one, two) == ""


@pytest.mark.parametrize(
    ("one", "two", "differs"),
    [
        (ps.Dataset.range(5), ps.Dataset.range(6), "range"),
        (ps.Dataset.range(5).batch(2), ps.Dataset.range(5).batch(3), "batch"),
        (ps.Dataset.range(5).shuffle(5, seed=1), ps.Dataset.range(5).shuffle(5, seed=2), "shuffle"),
        (ps.Dataset.range(5), ps.Dataset.range(5).batch(1), "ops"),
        (mapped(lambda x: x * 2), mapped(lambda x: x * 3), "another function"),
        (mapped(lambda x: x * 2), mapped(lambda x: x + 2), "another function"),
        (mapped(closing_over(1)), mapped(closing_over(2)), "another function"),
        (mapped(closing_over(np.zeros(9))), mapped(closing_over(np.ones(9))), "another function"),
        (mapped(partial(scaled, by=3)), mapped(partial(scaled, by=4)), "map"),
        (mapped(Scale(1)), mapped(Scale(2)), "map"),
        (mapped(Scale(1).method), mapped(Scale(2).method), "map"),
        (
            ps.Dataset.from_tensor_slices(np.zeros(9)),
            ps.Dataset.from_tensor_slices(np.ones(9)),
            "other data",
        ),
    ],
)
def test_given_two_pipelines_then_the_difference_is_named(
    one: ps.Dataset, two: ps.Dataset, differs: str
) -> None:
    assert differs in first_difference(fingerprint(one.op), fingerprint(two.op))


def test_given_another_process_then_the_fingerprint_is_the_same() -> None:
    code = (
        "import penstock as ps\n"
        "from penstock.graph.fingerprint import fingerprint\n"
        "ds = ps.Dataset.range(5).map(lambda x: x if str(x) in {'a', 'b', 'c', 'd', 'e'} else -x)\n"
        "print(fingerprint(ds.shuffle(3).op))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
        ).stdout
        for hash_seed in range(3)
    }
    assert len(said) == 1


SCALE: Any = 2
TABLE: Any = np.arange(6.0)
CALLS: list[int] = []
COUNT = 0


def helper(x: Any) -> Any:
    return x + SCALE


def reads_a_constant(x: Any) -> Any:
    return x * SCALE


def reads_an_array(x: Any) -> Any:
    return TABLE[x]


def calls_a_helper(x: Any) -> Any:
    return sum(helper(part) for part in (x,))


def calls_itself(x: Any) -> Any:
    return x if x < SCALE else calls_itself(x - 1)


@pytest.mark.parametrize(
    ("function", "name", "value"),
    [
        (reads_a_constant, "SCALE", 3),
        (reads_an_array, "TABLE", np.arange(6.0) + 1),
        (calls_a_helper, "SCALE", 3),
        (calls_a_helper, "helper", lambda x: x - SCALE),
        (calls_itself, "SCALE", 3),
    ],
)
def test_given_another_global_that_the_function_reads_then_the_fingerprints_differ(
    monkeypatch: pytest.MonkeyPatch, function: Any, name: str, value: Any
) -> None:
    before = fingerprint(mapped(function).op)
    assert before == fingerprint(mapped(function).op)
    monkeypatch.setitem(globals(), name, value)
    assert "another function" in first_difference(fingerprint(mapped(function).op), before)


def test_given_a_function_that_keeps_count_in_a_global_then_the_fingerprint_stays() -> None:
    def counts(x: Any) -> Any:
        global COUNT
        COUNT += 1
        CALLS.append(COUNT)
        return x

    before = fingerprint(mapped(counts).op)
    counts(1)
    assert fingerprint(mapped(counts).op) == before
