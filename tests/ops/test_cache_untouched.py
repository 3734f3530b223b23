"""Whoever changes an element of a cache changes it for nobody else."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps


class Own:
    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Own) and other.number == self.number

    __hash__ = None  # type: ignore[assignment]


class Locked(Own):
    """Something that cannot be copied."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.lock = threading.Lock()


def wipe(array: Any) -> None:
    array[...] = 0


ARRAYS: dict[str, Callable[[int], Any]] = {
    "of one shape": lambda i: np.full(3, i + 1),
    "of many shapes": lambda i: np.full(i + 1, i + 1),
    "of many dtypes": lambda i: np.full(i + 1, i + 1, [np.int32, np.float64][i % 2]),
}
OBJECTS: dict[str, tuple[Callable[[int], Any], Callable[[Any], None]]] = {
    "sets": (lambda i: {i}, lambda x: x.add(99)),
    "arrays of objects": (lambda i: np.array([["a"], i], object), wipe),
    "of a class": (Own, lambda x: setattr(x, "number", 99)),
}


def cached(make: Callable[[int], Any], filename: str = "") -> ps.Dataset:
    return ps.Dataset.from_generator(lambda: (make(i) for i in range(6))).cache(filename)


@pytest.mark.parametrize("kind", ARRAYS)
def test_given_arrays_then_in_every_epoch_they_cannot_be_written_to(kind: str) -> None:
    ds = cached(ARRAYS[kind])
    for _ in range(3):
        for i, array in enumerate(ds):
            assert np.array_equal(array, ARRAYS[kind](i))
            with pytest.raises(ValueError, match="read-only"):
                wipe(array)


@pytest.mark.parametrize("in_file", [False, True])
@pytest.mark.parametrize("kind", OBJECTS)
def test_given_objects_when_they_are_changed_then_the_next_epoch_has_them_as_they_were(
    kind: str, in_file: bool, tmp_path: Path
) -> None:
    make, change = OBJECTS[kind]
    ds = cached(make, str(tmp_path / "rows") if in_file else "")
    for _ in range(3):
        for i, value in enumerate(ds):
            assert np.array_equal(value, make(i)) if isinstance(value, np.ndarray) else value == make(i)
            change(value)


def test_given_ragged_values_then_they_cannot_be_written_to() -> None:
    ds = ps.Dataset.range(6).map(lambda i: np.arange(i)).ragged_batch(3).cache()
    for _ in range(2):
        first, _ = ds
        assert first == ps.Ragged(np.array([0, 0, 1]), np.array([0, 0, 1, 3]))
        with pytest.raises(ValueError, match="read-only"):
            wipe(first.values)


def test_given_objects_that_cannot_be_copied_then_they_are_given_out_as_they_are() -> None:
    ds = cached(Locked)
    for _ in range(2):
        assert [value.number for value in ds] == list(range(6))
