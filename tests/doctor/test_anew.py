"""A buffer that is made longer keeps its beginning; one that is made anew does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from weakref import ref

import numpy as np
import pytest
import torch

from penstock.doctor.anew import Beginning, first_items
from penstock.doctor.candidates import _anew
from penstock.doctor.paths import BYTES, Described
from penstock.doctor.places import Places

RNG = np.random.default_rng(1)
LENGTHS = range(20, 40)


def seen(made: Callable[[int], Any]) -> bool:
    one = Beginning()
    for length in LENGTHS:
        one.see(made(length), length)
    return one.anew


@pytest.mark.parametrize(
    "made",
    [
        lambda n: RNG.normal(size=(n, 3)),
        lambda n: torch.rand(4, n),
        lambda n: str(RNG.integers(10, 99)) * n,
        lambda n: RNG.bytes(n),
    ],
    ids=["array", "tensor", "text", "bytes"],
)
def test_given_data_that_are_longer_each_time_then_they_are_made_anew(made: Callable[[int], Any]) -> None:
    assert seen(made)


WHOLE = RNG.normal(size=(100, 3))


@pytest.mark.parametrize(
    "made",
    [
        lambda n: WHOLE[:n].copy(),
        lambda n: torch.from_numpy(WHOLE[:n]),
        lambda n: "ab" * n,
        lambda n: np.concatenate([WHOLE.T[:, :n], np.zeros((3, 1))], axis=1),
        lambda n: np.float64(n),
        lambda n: SimpleNamespace(size=n),
    ],
    ids=["rows", "tensor", "text", "columns", "number", "unknown"],
)
def test_given_what_is_made_longer_or_cannot_be_read_then_it_is_not(made: Callable[[int], Any]) -> None:
    assert not seen(made)


def test_given_what_is_made_longer_and_once_begun_anew_then_it_is_not() -> None:
    one = Beginning()
    for length in LENGTHS:
        one.see(("a" if length < LENGTHS[10] else "b") * length, length)
    assert not one.anew


def test_given_a_list_that_is_filled_anew_in_each_episode_then_it_is_made_anew() -> None:
    one = Beginning()
    kept: list[Any] = []
    for length in LENGTHS:
        kept = [torch.zeros(1) for _ in range(length)]  # the last one goes when this one is there
        one.see(kept, length)
    assert one.anew


@pytest.mark.parametrize("grow", [list.append, lambda kept, x: kept.insert(0, x)], ids=["end", "front"])
def test_given_a_list_that_goes_on_then_it_is_not_made_anew(grow: Callable[[list[Any], Any], None]) -> None:
    one, kept = Beginning(), list[Any]()
    for length in LENGTHS:
        grow(kept, torch.zeros(1))
        one.see(kept, length)
    assert not one.anew


def test_given_a_member_then_it_is_not_kept_alive_and_another_at_its_address_is_another() -> None:
    one, kept = Beginning(), [torch.zeros(1)]
    gone = ref(kept[0])
    one.see(kept, 1)
    kept.clear()
    assert gone() is None
    one.see([torch.zeros(1)], 2)
    assert (one.stayed, one.changed) == (0, 1)


def test_given_a_transposed_array_then_only_its_first_row_is_read() -> None:
    assert first_items(WHOLE.T) == WHOLE[:16, 0].tolist()
    assert first_items(np.zeros((0, 3))) is None


@pytest.mark.parametrize(
    ("line", "anew"),
    [("rows = load(step)", True), ("rows = shuffled(rows, step)", False), ("rows += load(step)", False)],
)
def test_given_a_line_that_makes_it_from_itself_then_it_is_not_made_anew(
    line: str, anew: bool, tmp_path: Path
) -> None:
    script = tmp_path / "train.py"
    script.write_text(f"for step in range(9):\n    {line}\n")
    file = str(script)
    one = Described("rows", ("rows",), "", file, "ndarray", BYTES, False, False, ("ndarray",), (file,))
    one.beginning = Beginning(changed=9)
    watching: Any = SimpleNamespace(places=Places(file))
    assert _anew(watching, one) is anew
    one.labels = ("rows", ".maps")  # what is inside of it is longer with it
    assert _anew(watching, one) is anew
