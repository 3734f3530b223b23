"""What NumPy warns of in a call over a block is said of the user's line."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.blocks import warned

NUMBERS = np.arange(1000.0) - 500


def logs(x: Any) -> Any:
    return np.log(x)


def divides(x: Any) -> Any:
    half = x / 2
    return half / 0.0 * x


def said(function: Callable[[Any], Any]) -> list[warnings.WarningMessage]:
    ds = ps.Dataset.from_tensor_slices(NUMBERS).map(function, executor="block").batch(100)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in ds:
            pass
    return caught


@pytest.mark.parametrize("function, line, words", [(logs, 1, "in log"), (divides, 2, "divide")])
def test_given_a_call_over_a_block_then_its_warnings_are_at_the_users_line(
    function: Callable[[Any], Any], line: int, words: str
) -> None:
    caught = said(function)
    places = {(one.filename, one.lineno) for one in caught}
    assert places == {(__file__, function.__code__.co_firstlineno + line)}
    texts = [str(one.message) for one in caught]
    assert any("divide by zero encountered" in text and words in text for text in texts), texts
    assert len(texts) == len(set(texts)), "each is said once"


def test_given_errors_that_raise_then_they_raise() -> None:
    ds = ps.Dataset.from_tensor_slices(NUMBERS).map(logs).batch(100)
    with np.errstate(all="raise"), pytest.raises(ps.errors.FunctionError, match="invalid value encountered"):
        list(ds)


def test_given_a_way_of_the_users_own_then_it_is_left_alone() -> None:
    seen: list[str] = []
    with np.errstate(divide="call", invalid="ignore", call=lambda what, _: seen.append(what)):
        assert said(logs) == []
    assert "divide by zero" in seen


def test_given_what_is_computed_when_the_call_is_over_then_the_head_of_the_function_is_named() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with warned.warned_inside(logs, _later.__code__):
            _later()
    (one,) = caught
    assert (one.filename, one.lineno) == (__file__, logs.__code__.co_firstlineno)


def _later() -> None:
    scope = {"__name__": "penstock.later", "np": np}
    exec("def run(ufunc):\n    return ufunc(np.zeros(3))\n", scope)
    scope["run"](np.log)  # type: ignore[operator]
