"""What ends a program, raised where there is none to end: an error of its element, and no hang."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

import penstock as ps

ENDING = [SystemExit, KeyboardInterrupt]


def fails_at_three(error: type[BaseException]) -> Callable[[int], bool]:
    def function(x: int) -> bool:
        if int(x) == 3:
            raise error("enough")
        return True

    return function


def elements(ds: ps.Dataset) -> list[int | str]:
    found: list[int | str] = []
    with ds.iterate() as it:
        while True:
            try:
                found.append(int(next(it)))
            except ps.errors.FunctionError as failed:
                found.append(f"{failed.number} {type(failed.__cause__).__name__}")
            except StopIteration:
                return found


@pytest.mark.parametrize("error", ENDING)
def test_given_a_worker_process_then_it_is_an_error_of_the_element(error: type[BaseException]) -> None:
    fine = fails_at_three(error)
    ds = ps.Dataset.range(6).map(lambda x: int(x) * fine(x), num_parallel_calls=2, executor="processes")
    assert elements(ds) == [0, 1, 2, f"3 {error.__name__}", 4, 5]


@pytest.mark.parametrize("error", ENDING)
@pytest.mark.parametrize("op", ["map", "filter", "interleave"])
def test_given_another_thread_then_it_is_an_error_of_the_element(error: type[BaseException], op: str) -> None:
    fine = fails_at_three(error)
    numbers = ps.Dataset.range(6)
    ds = {
        "map": numbers.map(lambda x: int(x) * fine(x)),
        "filter": numbers.filter(fine),
        "interleave": numbers.interleave(
            lambda x: ps.Dataset.from_tensors(x) if fine(x) else ps.Dataset.range(0), cycle_length=1
        ),
    }[op]
    with ThreadPoolExecutor(1) as other:
        found = other.submit(elements, ds).result(60)
    assert found == [0, 1, 2, f"3 {error.__name__}", 4, 5]


@pytest.mark.parametrize("error", ENDING)
def test_given_the_main_thread_then_it_ends_the_loop(error: type[BaseException]) -> None:
    with pytest.raises(error, match="enough"):
        list(ps.Dataset.range(6).map(fails_at_three(error)))
