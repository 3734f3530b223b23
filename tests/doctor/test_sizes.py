"""How many bytes one more member of a container costs."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from functools import partial
from types import ModuleType

import numpy as np
import pytest

from penstock.doctor.members import bytes_each
from penstock.doctor.sizes import (
    ATTRIBUTES,
    MANY,
    VIEW,
    array_bytes,
    buffer_of,
    deep_bytes,
    first_inside,
    inner_length,
    length_of,
)


def test_given_views_of_one_array_then_each_costs_no_more_than_a_view() -> None:
    whole = np.zeros((1000, 1000))
    assert bytes_each([whole[i] for i in range(20)]) <= VIEW + 8


def test_given_views_of_arrays_of_their_own_then_each_costs_its_array() -> None:
    assert bytes_each([np.zeros(10_000)[:10] for _ in range(20)]) >= 80_000


def test_given_views_of_blocks_that_come_one_after_another_then_the_blocks_count() -> None:
    blocks = [np.zeros((4, 1000)) for _ in range(8)]
    assert bytes_each([block[i] for block in blocks for i in range(4)]) >= 8_000


@pytest.mark.parametrize("views", [2, 8, 20, 40])
@pytest.mark.parametrize("count", [50, 100])
@pytest.mark.parametrize("wrapped", [False, True], ids=["array", "record"])
def test_given_views_of_blocks_then_each_block_counts_once(views: int, count: int, wrapped: bool) -> None:
    blocks = [np.zeros((views, 1000)) for _ in range(count // views + 1)]
    kept = [block[i] for block in blocks for i in range(views)][:count]
    each = bytes_each([(7, one) for one in kept] if wrapped else kept)
    assert 8_000 <= each <= 8_000 + 4 * VIEW


def test_given_views_of_a_block_that_is_larger_than_what_is_looked_at_then_the_rows_count() -> None:
    before, block = np.zeros(10), np.zeros((1000, 1000))
    assert 8_000 <= bytes_each([before, *(block[i] for i in range(200))]) <= 8_000 + 2 * VIEW


def test_given_classes_that_are_made_at_work_then_what_they_have_counts() -> None:
    made = {f"Op{i}": type(f"Op{i}", (), {"table": np.zeros(10_000)}) for i in range(20)}
    assert 80_000 <= bytes_each(made) < 90_000


def test_given_a_tuple_that_is_replaced_by_longer_ones_then_it_is_a_container() -> None:
    assert length_of((1, 2)) == 2
    assert bytes_each(tuple(np.zeros(1000) for _ in range(20))) >= 8_000


def test_given_one_array_that_is_kept_again_and_again_then_it_costs_nothing_more() -> None:
    whole = np.zeros(10_000)
    assert bytes_each([whole] * 20) <= 16


def test_given_a_map_then_its_bytes_count() -> None:
    with mmap.mmap(-1, 1 << 16) as one:
        assert array_bytes(one) == 1 << 16
    assert array_bytes(one) is None


def rows() -> Iterator[float]:
    data = np.ones(10_000)
    yield from data


def test_given_generators_that_wait_then_what_they_hold_counts() -> None:
    waiting = [rows() for _ in range(20)]
    for one in waiting:
        next(one)
    assert bytes_each(waiting) >= 80_000


def test_given_functions_then_what_they_close_over_counts_and_their_module_does_not() -> None:
    def made() -> object:
        data = np.ones(10_000)
        return lambda: data

    assert 80_000 <= bytes_each([made() for _ in range(20)]) < 90_000


class Task:
    def __init__(self) -> None:
        self.data = np.ones(10_000)

    def done(self, number: int) -> float:
        return float(self.data[number])


@pytest.mark.parametrize(
    "made",
    [lambda: Task().done, lambda: partial(Task().done, 1), lambda: partial(print, np.ones(10_000))],
    ids=["method", "partial method", "partial"],
)
def test_given_calls_to_come_then_what_they_are_bound_to_counts(made: Callable[[], object]) -> None:
    assert 80_000 <= bytes_each([made() for _ in range(20)]) < 90_000


class Run:
    """Something with attributes."""


def test_given_an_object_with_many_attributes_then_it_is_a_container_of_them() -> None:
    run = Run()
    assert length_of(run) is None
    for number in range(MANY + 10):
        setattr(run, f"grad_{number}", np.zeros(1000))
    assert length_of(run) == MANY + 10
    assert 8_000 <= bytes_each(run) <= 9_000
    assert length_of(Run) is None


def test_given_an_object_whose_last_attribute_is_the_large_one_then_it_counts() -> None:
    run = Run()
    for number in range(ATTRIBUTES - 1):
        setattr(run, f"flag_{number}", None)
    small = deep_bytes(run)
    run.state = np.zeros(100_000)  # type: ignore[attr-defined]
    assert deep_bytes(run) >= small + 800_000


def test_given_a_table_of_arrow_then_its_bytes_count() -> None:
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({"loss": np.zeros(1000)})
    assert array_bytes(table) == 8000
    assert array_bytes(arrow.concat_tables([table, table])) == 16_000
    assert array_bytes(arrow.Table) is None


def test_given_a_stream_of_arrow_then_what_was_written_to_it_counts() -> None:
    arrow = pytest.importorskip("pyarrow")
    sink = arrow.BufferOutputStream()
    assert buffer_of(sink) == 0
    sink.write(b"x" * 5000)
    assert buffer_of(sink) == 5000
    sink.close()
    assert buffer_of(sink) == 0


def test_given_many_lists_in_a_dict_then_what_they_have_in_all_is_known() -> None:
    table: dict[int, list[int]] = {number: [1, 2, 3] for number in range(2 * MANY)}
    assert inner_length(table) == 6 * MANY
    assert first_inside(table) is table[0]
    for rows in table.values():
        rows.append(4)
    assert inner_length(table) == 8 * MANY
    assert inner_length(list(table.values())) == 8 * MANY


@pytest.mark.parametrize(
    "thing",
    [[[1]] * MANY, [1] * 2 * MANY, [(1, 2)] * 2 * MANY, "x" * 2 * MANY, ["x"] * 2 * MANY],
    ids=["few", "numbers", "records", "text", "texts"],
)
def test_given_anything_else_then_there_are_no_containers_in_it(thing: object) -> None:
    assert inner_length(thing) is None
    assert first_inside(thing) is None


def test_given_a_module_that_is_kept_then_what_it_has_counts_and_what_it_imports_does_not() -> None:
    made = ModuleType("made")
    made.table, made.np = np.zeros(10_000), np  # type: ignore[attr-defined]
    assert 80_000 <= deep_bytes(made) < 90_000
