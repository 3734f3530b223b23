"""`cache`."""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import threading
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract, drain, same
from engine.leftovers import descriptors


def mixed(i: Any) -> dict[str, Any]:
    n = int(i)
    return {
        "array": np.arange(n % 5, dtype=np.int16),
        "bytes": b"x" * (n % 7),
        "text": "é" * (n % 3),
        "object": None if n % 2 else frozenset({n}),
    }


class Counted:
    """A function that counts its calls."""

    def __init__(self, fail_at: tuple[int, ...] = ()) -> None:
        self.calls: list[int] = []
        self.fail_at = fail_at

    def __call__(self, i: Any) -> Any:
        self.calls.append(int(i))
        if int(i) in self.fail_at:
            raise ValueError(f"no {i}")
        return i * 10


def first(ds: ps.Dataset, count: int, **how: Any) -> list[int]:
    with ds.iterate(**how) as it:
        return [int(x) for x, _ in zip(it, range(count), strict=False)]


def outcomes(ds: ps.Dataset, count: int) -> list[Any]:
    """The first elements as numbers, and failed ones as what they said."""
    out: list[Any] = []
    with ds.iterate() as it:
        while len(out) < count:
            try:
                out.append(int(next(it)))
            except StopIteration:
                break
            except ps.errors.FunctionError as error:
                out.append(str(error.__cause__))
    return out


class TestCache(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        pairs = (np.arange(60).reshape(20, 3), np.arange(20.0))
        return {
            "range": lambda: ps.Dataset.range(120).cache(),
            "tuples": lambda: ps.Dataset.from_tensor_slices(pairs).cache(),
            "mixed": lambda: ps.Dataset.range(90).map(mixed).cache(),
            "empty": lambda: ps.Dataset.range(0).cache(),
            "batches": lambda: ps.Dataset.range(50).batch(4).cache(),
            "then shuffled": lambda: ps.Dataset.range(70).cache().shuffle(10),
            "twice": lambda: ps.Dataset.range(30).cache().batch(3).cache(),
        }

    def test_given_a_whole_pass_then_nothing_is_made_again(self) -> None:
        made = Counted()
        ds = ps.Dataset.range(20).map(made).cache()
        assert [first(ds, 99) for _ in range(3)] == [[i * 10 for i in range(20)]] * 3
        assert made.calls == list(range(20))

    def test_given_a_partial_pass_then_the_next_one_reads_it_and_goes_on(self) -> None:
        made = Counted()
        ds = ps.Dataset.range(20).map(made).cache()
        ds = ds.with_options(ps.Options(block_rows=1))
        assert first(ds, 6) == [0, 10, 20, 30, 40, 50]
        stored = ds.op.store.rows
        assert 6 <= stored < 20
        with ds.iterate() as it:
            assert [int(next(it)) for _ in range(stored)] == [i * 10 for i in range(stored)]
        assert len(made.calls) == stored
        assert first(ds, 99) == [i * 10 for i in range(20)]
        assert ds.op.store.complete

    def test_given_a_partial_pass_over_a_shuffle_then_no_element_is_lost_or_doubled(self) -> None:
        ds = ps.Dataset.range(200).shuffle(50).cache().with_options(ps.Options(block_rows=3))
        half = first(ds, 77)
        whole = first(ds, 999)
        assert whole[:77] == half
        assert sorted(whole) == list(range(200))
        assert first(ds, 999) == whole

    def test_given_another_seed_then_a_partial_pass_is_not_continued(self) -> None:
        ds = ps.Dataset.range(100).shuffle(100).cache().with_options(ps.Options(block_rows=1))
        first(ds, 40, seed=1)
        assert sorted(first(ds, 999, seed=2)) == list(range(100))

    def test_given_two_iterators_at_once_then_they_share_one_cache(self) -> None:
        made = Counted()
        ds = ps.Dataset.range(30).map(made).cache().with_options(ps.Options(block_rows=2))
        one, two = ds.iterate(epoch=0), ds.iterate(epoch=1)
        got: tuple[list[int], list[int]] = ([], [])
        for turn in (0, 1, 1, 1, 0, 0, 0, 0, 1) * 8:
            value = next((one, two)[turn], None)
            if value is not None:
                got[turn].append(int(value))
        one.close()
        got[1].extend(int(x) for x in two)
        assert got[1] == [i * 10 for i in range(30)]
        assert got[0] == got[1][: len(got[0])]
        calls = len(made.calls)
        assert first(ds, 99) == got[1]
        assert len(made.calls) == calls

    def test_given_threads_that_iterate_at_once_then_each_gets_all(self) -> None:
        ds = ps.Dataset.range(2000).map(lambda i: i * 3).cache()
        results: dict[int, list[int]] = {}
        threads = [
            threading.Thread(target=lambda n=n: results.update({n: first(ds, 9999)})) for n in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [results[n] for n in range(4)] == [[i * 3 for i in range(2000)]] * 4

    @pytest.mark.parametrize("rows", [None, 1, 3, 64])
    def test_given_failing_elements_then_later_epochs_meet_them_in_the_same_place(
        self, rows: int | None
    ) -> None:
        made = Counted(fail_at=(0, 4, 5, 19))
        ds = ps.Dataset.range(20).map(made).cache().with_options(ps.Options(block_rows=rows))
        streams = [outcomes(ds, 99) for _ in range(3)]
        expected = [f"no {i}" if i in made.fail_at else i * 10 for i in range(20)]
        assert streams == [expected] * 3
        assert made.calls == list(range(20))

    def test_given_a_partial_pass_with_failures_then_the_next_one_raises_each_once(self) -> None:
        made = Counted(fail_at=(1, 3, 8))
        ds = ps.Dataset.range(10).map(made).cache().with_options(ps.Options(block_rows=1))
        expected = [f"no {i}" if i in made.fail_at else i * 10 for i in range(10)]
        for count in (3, 6, 99, 99):
            assert outcomes(ds, count) == expected[:count]

    def test_given_failing_elements_then_what_is_stored_holds_no_run(self) -> None:
        ds = ps.Dataset.range(10).map(Counted(fail_at=(1, 3))).cache()
        for _ in range(2):
            it = ds.iterate()
            run = weakref.ref(it._run)
            for _ in range(11):
                with contextlib.suppress(ps.errors.FunctionError):
                    next(it, None)
            it.close()
            del it
            gc.collect()
            assert run() is None

    def test_given_a_run_that_stores_while_another_makes_then_no_row_is_doubled(self) -> None:
        other: list[Any] = []

        def make(i: Any) -> Any:
            if int(i) == 4 and not other:  # in the middle of a block of the first run
                other.append(None)
                with ds.with_options(ps.Options(block_rows=5)).iterate(epoch=1) as it:
                    other.extend(int(next(it)) for _ in range(5))
            return i * 10

        ds = ps.Dataset.range(20).map(make).cache()
        with ds.with_options(ps.Options(block_rows=8)).iterate(epoch=0) as it:
            assert [int(x) for x in it] == [i * 10 for i in range(20)]
        assert other[1:] == [0, 10, 20, 30, 40]
        assert ds.op.store.rows == 20

    def test_given_elements_from_the_cache_then_they_cannot_be_changed(self) -> None:
        ds = ps.Dataset.range(3).map(lambda i: np.full(4, i)).cache()
        for _ in range(2):
            for x in ds:
                with pytest.raises(ValueError, match="read-only"):
                    x[0] = 7

    def test_given_a_tiny_budget_then_rows_are_on_disk_and_the_same(self) -> None:
        ds = ps.Dataset.range(400).map(lambda i: np.full(2000, i)).cache()
        for _ in range(2):
            with ds.iterate(memory="1MiB") as it:
                for i, x in enumerate(it):
                    assert x.shape == (2000,) and x[0] == x[-1] == i
                assert i == 399
                assert it._run.ledger.peak <= 1 << 20

    def test_when_the_dataset_is_dropped_then_its_scratch_file_is_closed(self) -> None:
        gc.collect()
        files = descriptors()
        ds = ps.Dataset.range(400).map(lambda i: np.full(2000, i)).cache()
        with ds.iterate(memory="1MiB") as it:
            assert len(list(it)) == 400
        assert len(descriptors() - files) == 1
        del ds, it
        gc.collect()
        assert descriptors() <= files

    def test_given_a_pickled_dataset_then_its_cache_is_empty(self) -> None:
        ds = ps.Dataset.range(5).cache()
        list(ds)
        copy = pickle.loads(pickle.dumps(ds))
        assert ds.op.store.rows == 5
        assert copy.op.store.rows == 0

    def test_given_a_wrong_filename_then_declaring_fails(self) -> None:
        with pytest.raises(ps.errors.ArgumentTypeError, match=r"cache at .*test_cache\.py:\d+"):
            ps.Dataset.range(3).cache(3)  # type: ignore[arg-type]


def triple(i: Any) -> Any:
    return i * 3


class TestCacheFile:
    def test_given_a_whole_pass_then_another_dataset_reads_the_file(self, tmp_path: Path) -> None:
        name = str(tmp_path / "images")
        made = Counted()
        ds = ps.Dataset.range(50).map(made).cache(name)
        expected = first(ds, 99)
        assert [path.name for path in tmp_path.iterdir()] == ["images.rows"]
        assert first(ds, 99) == expected
        again = Counted()
        assert first(ps.Dataset.range(50).map(again).cache(name), 99) == expected
        assert again.calls == []

    def test_given_leaves_of_every_kind_then_the_file_has_them(self, tmp_path: Path) -> None:
        name = str(tmp_path / "mixed")
        ds = ps.Dataset.range(90).map(mixed).cache(name)
        expected = drain(ps.Dataset.range(90).map(mixed))
        assert same(drain(ds), expected)
        assert same(drain(ds), expected)
        assert same(drain(ps.Dataset.range(90).map(mixed).cache(name)), expected)

    def test_given_a_partial_pass_then_there_is_no_file(self, tmp_path: Path) -> None:
        ds = ps.Dataset.range(50).map(triple).cache(str(tmp_path / "c"))
        ds = ds.with_options(ps.Options(block_rows=1))
        first(ds, 10)
        assert list(tmp_path.iterdir()) == []
        first(ds, 99)
        assert len(list(tmp_path.iterdir())) == 1

    def test_when_the_run_ends_then_no_descriptor_is_left(self, tmp_path: Path) -> None:
        files = descriptors()
        ds = ps.Dataset.range(50).cache(str(tmp_path / "c"))
        for _ in range(3):
            first(ds, 99)
            assert descriptors() <= files

    @pytest.mark.parametrize(
        ("other", "differs"),
        [
            (lambda: ps.Dataset.range(51).map(triple), "range"),
            (lambda: ps.Dataset.range(50).map(lambda i: i * 4), "map"),
            (lambda: ps.Dataset.range(50).map(triple).batch(2), "ops"),
            (
                lambda: ps.Dataset.from_tensor_slices(np.arange(50)).map(triple),
                "from_tensor_slices",
            ),
        ],
    )
    def test_given_a_file_of_another_pipeline_then_it_is_refused(
        self, tmp_path: Path, other: Callable[[], ps.Dataset], differs: str
    ) -> None:
        name = str(tmp_path / "c")
        list(ps.Dataset.range(50).map(triple).cache(name))
        with pytest.raises(ps.errors.ArgumentError, match=f"another pipeline.*{differs}.*Delete"):
            list(other().cache(name))

    def test_given_arrays_of_other_content_then_the_file_is_refused(self, tmp_path: Path) -> None:
        name = str(tmp_path / "c")
        list(ps.Dataset.from_tensor_slices(np.arange(50)).cache(name))
        with pytest.raises(ps.errors.ArgumentError, match="other data"):
            list(ps.Dataset.from_tensor_slices(np.arange(50)[::-1]).cache(name))

    def test_given_the_same_function_again_then_the_file_is_accepted(self, tmp_path: Path) -> None:
        name = str(tmp_path / "c")
        scale = 5

        def build() -> ps.Dataset:
            return ps.Dataset.range(5).map(lambda i: i * scale).shuffle(3).cache(name)

        assert sorted(first(build(), 9)) == sorted(first(build(), 9)) == [0, 5, 10, 15, 20]
        scale = 6
        with pytest.raises(ps.errors.ArgumentError, match="another function"):
            list(build())

    @pytest.mark.parametrize("cut", [0, 10, 300, -1, -40])
    def test_given_a_file_cut_short_then_the_error_says_so(self, tmp_path: Path, cut: int) -> None:
        name = str(tmp_path / "c")
        list(ps.Dataset.range(500).map(triple).cache(name))
        path = tmp_path / "c.rows"
        os.truncate(path, cut if cut >= 0 else path.stat().st_size + cut)
        with pytest.raises(ps.errors.PenstockError, match=r"damaged.*Delete"):
            list(ps.Dataset.range(500).map(triple).cache(name))

    def test_given_a_damaged_byte_then_the_error_says_where(self, tmp_path: Path) -> None:
        name = str(tmp_path / "c")
        list(ps.Dataset.range(500).map(triple).cache(name))
        path = tmp_path / "c.rows"
        content = bytearray(path.read_bytes())
        content[400] ^= 1
        path.write_bytes(content)
        with pytest.raises(ps.errors.PenstockError, match=r"rows from number 0 on.*checksum"):
            list(ps.Dataset.range(500).map(triple).cache(name))

    def test_given_failing_elements_then_no_file_is_written(self, tmp_path: Path) -> None:
        ds = ps.Dataset.range(5).map(Counted(fail_at=(2,))).cache(str(tmp_path / "c"))
        with ds.iterate() as it:
            got = []
            for _ in range(6):
                try:
                    got.append(int(next(it)))
                except (ps.errors.FunctionError, StopIteration):
                    got.append(-1)
        assert got == [0, 10, -1, 30, 40, -1]
        assert list(tmp_path.iterdir()) == []

    def test_given_no_folder_then_the_run_fails_before_it_begins(self, tmp_path: Path) -> None:
        made = Counted()
        ds = ps.Dataset.range(5).map(made).cache(str(tmp_path / "none" / "c"))
        with pytest.raises(ps.errors.ArgumentError, match="does not exist"):
            list(ds)
        assert made.calls == []


def test_given_more_rows_in_memory_than_may_stay_when_the_run_ends_then_they_are_read_from_disk() -> None:
    made: list[int] = []

    def make(i: Any) -> Any:
        made.append(int(i))
        return np.full(1 << 20, i, np.uint8)

    ds = ps.Dataset.range(20).map(make).cache()
    for _ in range(2):
        with ds.iterate(memory="256MiB") as it:
            assert [int(x[0]) for x in it] == list(range(20))
        assert it.report().held == 0
    assert made == list(range(20))
