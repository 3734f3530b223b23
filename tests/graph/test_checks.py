"""What is said to those who give something else than was expected."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps

TEN = ps.Dataset.range(10)


class Loader:
    """Something to iterate over that is no iterator, as torch's DataLoader is."""

    def __iter__(self) -> Iterator[int]:
        return iter(range(3))


class Rows:
    """Something with numbered rows, as torch's datasets are."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, number: int) -> int:
        return number


Theirs = type("Theirs", (), {"__module__": "tensorflow.python.data.ops", "element_spec": None})
Rays = type("Rays", (), {"__module__": "ray.data.dataset", "iter_batches": None})


@pytest.mark.parametrize("calls", ["AUTO", "AUTOTUNE", 1.5, -2, 0])
@pytest.mark.parametrize(
    "declare",
    [
        lambda calls: TEN.map(lambda x: x, num_parallel_calls=calls),
        lambda calls: TEN.batch(2, num_parallel_calls=calls),
        lambda calls: TEN.interleave(lambda x: TEN, num_parallel_calls=calls),
        lambda calls: ps.TextLineDataset("a.txt", num_parallel_reads=calls),
    ],
)
def test_given_no_number_of_calls_then_the_error_names_autotune(
    declare: Callable[[Any], Any], calls: Any
) -> None:
    with pytest.raises(ps.errors.PenstockError, match=r"test_checks\.py:\d+: expected .*ps\.AUTOTUNE, got"):
        declare(calls)


@pytest.mark.parametrize(
    "value, hint",
    [
        ([1, 2], r"got \[1, 2\]\. Use `lambda: values`, or from_tensor_slices\(values\)"),
        (Loader(), "Use `lambda: values`"),
        (Rows(), r"Use `lambda: \(values\[i\] for i in range\(len\(values\)\)\)`"),
        (3, "expected a function that gives something to iterate over, got 3"),
    ],
)
def test_given_values_instead_of_a_generator_then_the_error_says_what_to_pass(value: Any, hint: str) -> None:
    with pytest.raises(ps.errors.ArgumentTypeError, match=rf"from_generator.*test_checks\.py:\d+.*{hint}"):
        ps.Dataset.from_generator(value)


@pytest.mark.parametrize(
    "join",
    [
        lambda other: ps.Dataset.zip(TEN, other),
        lambda other: ps.Dataset.zip({"a": TEN, "b": other}),
        lambda other: TEN.concatenate(other),
        lambda other: ps.Dataset.sample_from_datasets([TEN, other]),
        lambda other: ps.Dataset.choose_from_datasets([TEN, other], TEN),
        lambda other: TEN.apply(lambda ds: other),
        lambda other: list(TEN.interleave(lambda x: other)),
        lambda other: list(TEN.flat_map(lambda x: other)),
    ],
)
@pytest.mark.parametrize(
    "other, hint",
    [
        (Theirs, r"ps\.from_tensorflow\(\.\.\.\)"),
        (Rays, r"ps\.from_ray\(\.\.\.\)"),
        (Loader, r"ps\.Dataset\.from_generator\(lambda: \.\.\.\)"),
        (lambda: np.arange(3), r"ps\.Dataset\.from_tensor_slices\(\.\.\.\)"),
        (lambda: (x for x in range(3)), r"ps\.Dataset\.from_generator\(function\)"),
        (lambda: None, "Is a `return` missing"),
        (TEN.iterate, "Give the dataset itself"),
    ],
)
def test_given_something_else_than_a_dataset_then_the_error_says_how_to_make_one(
    join: Callable[[Any], Any], other: Callable[[], Any], hint: str
) -> None:
    with pytest.raises(
        ps.errors.ArgumentTypeError, match=rf"test_checks\.py:\d+.*expected .*dataset.*{hint}"
    ):
        join(other())


def test_given_a_long_value_then_the_message_cuts_it() -> None:
    with pytest.raises(ps.errors.ArgumentTypeError) as caught:
        TEN.concatenate(list(range(100_000)))  # type: ignore[arg-type]
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "declare, said",
    [
        (lambda: TEN.map(abs, executor="process"), r"got 'process'\. Did you mean 'processes'\?"),
        (lambda: TEN.map(abs, executor=None), "expected one of 'auto', .*got None"),  # type: ignore[arg-type]
        (lambda: TEN.prefetch("AUTO"), r"expected ps\.AUTOTUNE itself"),
        (lambda: TEN.shuffle(True), r"expected a whole number, ps\.UNKNOWN or None for the whole, got True"),
        (
            lambda: ps.Dataset.from_tensor_slices(np.arange(3), np.arange(3)),  # type: ignore[arg-type]
            r"Put them into a tuple: from_tensor_slices\(\(x, y\)\)",
        ),
        (lambda: ps.Dataset.from_tensor_slices(TEN), "a dataset already"),
        (lambda: ps.Dataset.from_tensor_slices([[1], [1, 2]]), r"from_generator\(lambda: rows\)"),
        (lambda: ps.CsvDataset("a", ["int32", "str"]), r"got the text 'int32'\. .*say np\.int32;"),
        (lambda: ps.CsvDataset("a", [str], select_cols=["city"]), "columns are numbered from 0, got 'city'"),  # type: ignore[list-item]
        (lambda: list(TEN.interleave(lambda x: "a.txt")), r"name of a file.*ps\.TextLineDataset\(name\)"),
    ],
)
def test_given_a_plausible_slip_then_the_error_says_what_to_write(
    declare: Callable[[], Any], said: str
) -> None:
    with pytest.raises(ps.errors.PenstockError, match=rf"test_checks\.py:\d+.*{said}"):
        declare()


def test_given_a_file_to_save_to_then_the_error_says_that_it_is_none(tmp_path: Path) -> None:
    path = tmp_path / "data.bin"
    path.touch()
    with pytest.raises(ps.errors.StoreError, match=r"data\.bin: expected the path of a folder"):
        TEN.save(path)
