"""`interleave`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from contract.op_contract import OpContract
from penstock.engine.context import StageContext
from penstock.graph import track
from penstock.ops import interleave


def thrice(n: Any) -> ps.Dataset:
    return ps.Dataset.from_tensors(n).repeat(3)


def up_to(n: Any) -> ps.Dataset:
    return ps.Dataset.range(n)


def arrays(n: Any) -> ps.Dataset:
    return ps.Dataset.from_tensor_slices((np.full((4, 2), n), [b"a", b"b", b"c", b"dd"]))


def shuffled(n: Any) -> ps.Dataset:
    return ps.Dataset.range(n).shuffle(4)


def nested(n: Any) -> ps.Dataset:
    return ps.Dataset.range(n).interleave(thrice, 2, 1, num_parallel_calls=2)


def in_turn(lengths: list[int], cycle: int, block: int) -> list[int]:
    """The meaning, element by element: `cycle` slots, each refilled on the visit after its end."""
    waiting = [[100 * i + j for j in range(n)] for i, n in enumerate(lengths)]
    slots: list[list[int] | None] = [None] * cycle
    at, out = 0, []
    while waiting or any(slot is not None for slot in slots):
        slot = slots[at]
        if slot is None and waiting:
            slot = slots[at] = waiting.pop(0)
        if slot is not None:
            out += slot[:block]
            if len(slot) < block:
                slots[at] = None
            del slot[:block]
        at = (at + 1) % cycle
    return out


class TestInterleave(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        return {
            "default": lambda: ps.Dataset.range(9).interleave(up_to),
            "blocks": lambda: ps.Dataset.range(9).interleave(up_to, 3, 2),
            "one": lambda: ps.Dataset.range(5).interleave(thrice, 1),
            "wide": lambda: ps.Dataset.range(3).interleave(thrice, 7, 5),
            "tuples": lambda: ps.Dataset.range(5).interleave(arrays, 2, 3),
            "parallel": lambda: ps.Dataset.range(5).interleave(arrays, 2, 3, ps.AUTOTUNE, True),
            "parallel wide": lambda: ps.Dataset.range(30).interleave(up_to, 7, 2, 3).batch(4),
            "parallel of one": lambda: ps.Dataset.range(5).interleave(thrice, 1, num_parallel_calls=2),
            "parallel of none": lambda: ps.Dataset.range(0).interleave(thrice, num_parallel_calls=2),
            "parallel and shuffled": lambda: ps.Dataset.range(9).interleave(shuffled, 4, 1, 4).prefetch(2),
            "parallel in parallel": lambda: ps.Dataset.range(4).interleave(nested, 3, 2, 3),
            "empty": lambda: ps.Dataset.range(0).interleave(up_to),
        }

    def test_given_three_datasets_of_three_then_an_emptied_slot_is_refilled_next_time(self) -> None:
        got = [int(x) for x in ps.Dataset.range(3).interleave(thrice, 2, block_length=2)]
        assert got == [0, 0, 1, 1, 0, 1, 2, 2, 2]

    def test_given_no_cycle_length_then_four_are_open_at_a_time(self) -> None:
        got = [int(x) for x in ps.Dataset.range(6).interleave(thrice)]
        assert got == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 4, 5, 4, 5]

    @given(
        st.lists(st.integers(0, 7), max_size=8),
        st.integers(1, 5),
        st.integers(1, 4),
        st.sampled_from([1, 3, 64]),
    )
    def test_given_any_lengths_then_it_is_the_meaning_element_by_element(
        self, lengths: list[int], cycle: int, block: int, rows: int
    ) -> None:
        def part(n: Any) -> ps.Dataset:
            return ps.Dataset.range(100 * n, 100 * n + lengths[n])

        ds = ps.Dataset.range(len(lengths)).interleave(part, cycle, block)
        got = [int(x) for x in ds.with_options(ps.Options(block_rows=rows))]
        assert got == in_turn(lengths, cycle, block)

    def test_given_errors_inside_then_each_costs_one_next(self) -> None:
        def inner(_: Any) -> ps.Dataset:
            return ps.Dataset.range(2, 6).map(check)

        def check(x: Any) -> Any:
            if x == 3:
                raise RuntimeError("three")
            return x

        it = iter(ps.Dataset.range(3).interleave(inner, 2, 2))
        got: list[Any] = []
        while True:
            try:
                got.append(int(next(it)))
            except StopIteration:
                break
            except ps.errors.FunctionError:
                got.append("E")
        # What TensorFlow 2.21 gives for the same pipeline.
        assert got == [2, "E", 4, 2, "E", 4, 5, 5, 2, "E", 4, 5]

    def test_given_take_below_then_no_dataset_is_asked_for_more_than_its_turns(self) -> None:
        made: list[tuple[int, int]] = []

        def part(n: Any) -> ps.Dataset:
            return ps.Dataset.range(100).map(lambda x: made.append((int(n), int(x))) or x)

        ds = ps.Dataset.range(10).interleave(part, cycle_length=2, block_length=2).take(5)
        list(ds.with_options(ps.Options(block_rows=64)))
        assert sorted(made) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]

    @pytest.mark.parametrize("arguments", [{"cycle_length": 0}, {"block_length": 0}])
    def test_given_wrong_lengths_then_declaring_fails(self, arguments: dict[str, int]) -> None:
        with pytest.raises(ps.errors.ArgumentError, match=r"_length=.*test_interleave\.py:\d+"):
            ps.Dataset.range(3).interleave(up_to, **arguments)  # type: ignore[arg-type]

    def test_given_something_else_than_a_dataset_then_the_error_says_so(self) -> None:
        with pytest.raises(ps.errors.ArgumentTypeError, match="returns a dataset"):
            next(iter(ps.Dataset.range(3).interleave(lambda n: n)))


def wide(size: Any) -> ps.Dataset:
    """Rows of 4 KiB."""
    return ps.Dataset.range(size * 1000, size * 1000 + size).map(lambda x: np.zeros(512, np.int64) + x)


@pytest.mark.parametrize("seed", range(20))
def test_given_any_demand_then_no_more_rows_come_than_asked_for_and_in_the_same_order(seed: int) -> None:
    random = np.random.default_rng(seed)
    cycle, length = int(random.integers(1, 6)), int(random.integers(1, 4))
    ds = ps.Dataset.from_tensor_slices(random.integers(0, 90, 12)).interleave(wide, cycle, length)
    expected = [int(x[0]) for x in ds.with_options(ps.Options(block_rows=1))]
    got: list[int] = []
    with ds.iterate(memory="1MiB") as it:
        while True:
            rows = int(random.choice([1, 2, 3, 7, 12, 40, 100, 300]))
            block = it._run.root.pull(rows)
            if block is None:
                break
            assert 1 <= block.rows <= rows
            got += [int(x[0]) for x in block.elements()]
    assert got == expected


# Files that are only read


def written(folder: Path, files: int = 5, records: int = 40, width: int = 3000) -> list[str]:
    paths = []
    for number in range(files):
        paths.append(str(folder / f"{number}.tfrecord"))
        with ps.io.TFRecordWriter(paths[-1]) as writer:
            for record in range(records + number):
                writer.write(bytes([number, record]) * (width // 2))
    return paths


def events(ds: ps.Dataset) -> list[Any]:
    """The first bytes of the elements, and the files and the places of those that failed."""
    found: list[Any] = []
    with ds.iterate() as it:
        while True:
            try:
                found.append(next(it)[:2])
            except StopIteration:
                return found
            except ps.errors.DataError as error:
                found.append((error.file, error.offset))


@pytest.mark.parametrize("damaged", [False, True])
def test_given_files_then_two_threads_read_them_and_the_stream_is_that_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damaged: bool
) -> None:
    paths = written(tmp_path)
    if damaged:
        data = bytearray(Path(paths[2]).read_bytes())
        data[20 * 3016 + 100] ^= 1
        Path(paths[2]).write_bytes(data)
    ds = ps.Dataset.from_tensor_slices(paths).interleave(ps.TFRecordDataset, 4, 3)
    monkeypatch.setattr(interleave, "SHARED", 1 << 60)
    expected = events(ds)
    assert len(expected) == 210
    halves = []
    monkeypatch.setattr(interleave, "SHARED", 1)
    monkeypatch.setattr(StageContext, "both", lambda _, first, second: halves.append((second(), first())))
    assert events(ds) == expected
    assert halves


def test_given_functions_of_the_user_then_one_thread_calls_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = written(tmp_path)
    halves = []
    monkeypatch.setattr(interleave, "SHARED", 1)
    monkeypatch.setattr(StageContext, "both", lambda _, first, second: halves.append((first(), second())))
    ds = ps.Dataset.from_tensor_slices(paths)
    ds = ds.interleave(lambda path: ps.TFRecordDataset(path).map(lambda record: record), 4, 3)
    assert len(events(ds)) == 210
    assert not halves


def test_given_a_state_of_an_iteration_that_was_resumed_itself_then_the_rest_is_exact(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(track, "SHARE", 1e9)  # noted after every block
    sizes = [9, 1, 1, 5, 5, 5]

    def part(number: Any) -> ps.Dataset:
        return ps.Dataset.range(sizes[int(number)]).map(lambda y: 100 * number + y)

    ds = ps.Dataset.range(6).interleave(part, cycle_length=2, block_length=3)
    ds = ds.with_options(ps.Options(block_rows=1))
    whole = [int(x) for x in ds]
    for first in range(len(whole)):
        with ds.iterate() as it:
            for _ in range(first):
                next(it)
            state = it.state()
        for second in range(len(whole) - first):
            with ds.iterate(state=state) as it:
                for _ in range(second):
                    next(it)
                again = it.state()
            assert [int(x) for x in ds.iterate(state=again)] == whole[first + second :], (first, second)


@pytest.mark.parametrize("calls", [None, 2])
@pytest.mark.parametrize("budget", [10, 12, 16])
def test_given_a_batch_that_takes_most_of_the_budget_then_the_budget_holds(
    calls: int | None, budget: int
) -> None:
    def part(first: Any) -> ps.Dataset:
        return ps.Dataset.range(96).map(lambda x: np.full(1 << 18, x + first, np.uint8))

    ds = ps.Dataset.range(4).interleave(part, cycle_length=4, num_parallel_calls=calls).batch(32)
    with ds.iterate(memory=budget << 20) as it:
        got = [int(x) for batch in it for x in batch[:, 0]]
        report = it.report()
    assert got == [x + first for x in range(96) for first in range(4)]
    assert report.peak <= report.budget + (1 << 18)  # one row that somebody could not do without
