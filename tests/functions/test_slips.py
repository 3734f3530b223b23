"""Slips in users' functions that are told in words: no `return`, a key that is not there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.functions.returns import returns_nothing

ROWS = {"image": np.zeros((3, 2)), "label": np.arange(3)}


def forgotten(x: Any) -> Any:
    _ = x + 1


def half_forgotten(x: Any) -> Any:
    if x > 1:
        _ = x + 1
        return
    for _ in range(3):
        pass


def never(x: Any) -> Any:
    raise ValueError(x)


def some(x: Any) -> Any:
    return x if x > 1 else None


def within(x: Any) -> Any:
    with np.errstate(all="ignore"):
        return x


def gives(x: Any) -> Iterator[Any]:
    yield x


async def later(x: Any) -> Any:
    _ = x


class Maps:
    def forgotten(self, x: Any) -> Any:
        _ = x + 1

    def __call__(self, x: Any) -> Any:
        return x


@pytest.mark.parametrize("function", [forgotten, half_forgotten, Maps().forgotten])
def test_given_a_function_that_returns_nothing_then_declaring_a_map_fails_and_names_both_lines(
    function: Callable[[Any], Any],
) -> None:
    words = r"map at .*test_slips\.py:\d+: .*forgotten \(.*test_slips\.py:\d+\) returns nothing.*`return`"
    with pytest.raises(ps.errors.ArgumentError, match=words):
        ps.Dataset.range(3).map(function)


@pytest.mark.parametrize("function", [never, some, within, gives, later, Maps(), np.abs, print, lambda x: x])
def test_given_any_other_function_then_it_is_no_slip(function: Any) -> None:
    assert not returns_nothing(function)


def test_when_the_first_result_is_none_then_one_warning_says_so() -> None:
    ds = ps.Dataset.range(3).map(lambda x: [x].clear())
    with pytest.warns(UserWarning, match=r"map at .*test_slips\.py:\d+: .*None for element 0") as said:
        assert list(ds) == [None] * 3
    assert len(said) == 1


def test_given_none_as_a_part_of_the_result_then_nothing_is_said() -> None:
    assert [part for _, part in ps.Dataset.range(2).map(lambda x: (x, None))] == [None, None]


SLIPS: dict[str, Callable[[ps.Dataset], ps.Dataset]] = {
    "over the block": lambda ds: ds.map(lambda row: row["imge"]),
    "row by row": lambda ds: ds.map(lambda row: [row["imge"]][0]),
    "filter": lambda ds: ds.filter(lambda row: row["imge"] > 0),
    "part of a tuple": lambda ds: ds.map(lambda row: (row, 1)).map(lambda row, _: row["imge"]),
}


@pytest.mark.parametrize("name", SLIPS)
def test_given_a_key_that_is_not_there_then_those_that_are_get_named(name: str) -> None:
    ds = SLIPS[name](ps.Dataset.from_tensor_slices(ROWS))
    words = r"KeyError: 'imge'.* has the keys 'image', 'label'\. Did you mean 'image'\?"
    with pytest.raises(ps.errors.FunctionError, match=words):
        list(ds)


def test_given_many_keys_then_some_are_named() -> None:
    wide = {f"column{i}": np.arange(2) for i in range(50)}
    with pytest.raises(ps.errors.FunctionError, match=r"'column19', \.\.\.") as caught:
        list(ps.Dataset.from_tensor_slices(wide).map(lambda row: row[7]))
    assert "column20" not in str(caught.value)


def test_given_a_key_of_another_dict_then_nothing_is_said_of_the_element() -> None:
    table = {"a": 1}
    with pytest.raises(ps.errors.FunctionError) as caught:
        list(ps.Dataset.from_tensor_slices(ROWS).map(lambda _: table["image"]))
    assert "has the keys" not in str(caught.value)


@pytest.mark.parametrize("key", [["a"], slice(1, 2), np.arange(3), "x" * 3_000_000])
def test_given_a_key_of_any_kind_then_the_error_is_that_of_its_element(key: Any) -> None:
    def fails(row: Any) -> Any:
        if row["label"] == ROWS["label"][1]:
            raise KeyError(key)
        return row["label"]

    ds = ps.Dataset.from_tensor_slices(ROWS).map(fails)
    with pytest.raises(ps.errors.FunctionError, match="KeyError") as failed:
        list(ds)
    assert "Did you mean" not in str(failed.value)
    assert len(list(ds.ignore_errors())) == len(ROWS["label"]) - 1


def test_given_lists_of_several_lengths_then_it_is_said_that_a_list_is_a_tuple() -> None:
    ds = ps.Dataset.range(3).map(lambda n: [0] * (int(n) + 1)).padded_batch(3)
    with pytest.raises(ps.errors.DataError, match=r"A list counts as a tuple: .* return np\.array"):
        list(ds)
