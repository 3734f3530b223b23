"""`as_torch` on the CPU, with the real torch."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import threading
from collections import namedtuple
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.engine.run import living

torch = pytest.importorskip("torch")
from torch.utils.data import DataLoader, IterableDataset  # noqa: E402

from penstock.frameworks.dtypes import PLAIN  # noqa: E402

Pair = namedtuple("Pair", "first second")


def numbers(feed: Any) -> list[int]:
    """All that a feed of batches of whole numbers gives."""
    return [int(x) for batch in feed for x in batch.reshape(-1)]


def test_given_a_feed_then_it_is_an_iterable_dataset_with_a_length() -> None:
    feed = ps.Dataset.range(10).batch(4).as_torch()
    assert isinstance(feed, IterableDataset)
    assert len(feed) == 3
    with pytest.raises(TypeError, match="not known"):
        len(ps.Dataset.range(10).filter(lambda x: x > 3).as_torch())


class TestTensors:
    def test_given_read_only_rows_then_the_tensor_has_their_address_and_torch_does_not_warn(self) -> None:
        rows = np.arange(12, dtype=np.float32).reshape(6, 2)
        (batch,) = ps.Dataset.from_tensor_slices(rows).batch(6).as_torch()
        assert batch.data_ptr() == rows.ctypes.data
        assert batch.tolist() == rows.tolist()

    def test_given_rows_of_a_mapped_file_then_they_arrive_and_torch_does_not_warn(
        self, tmp_path: Path
    ) -> None:
        ps.Dataset.from_tensor_slices(np.arange(64, dtype=np.float32)).save(tmp_path)
        ds = ps.Dataset.load(tmp_path).batch(64)
        array, tensor = next(iter(ds)), next(iter(ds.as_torch()))
        assert not array.flags.writeable
        assert tensor.tolist() == [*range(64)]

    def test_given_rows_that_a_run_has_made_then_the_tensor_has_their_address(self) -> None:
        ds = ps.Dataset.from_tensor_slices(np.zeros((8, 1_000), np.float32)).map(lambda x: x + 1).batch(4)
        seen: list[int] = []

        def noted(batch: Any) -> Any:
            seen.append(batch.ctypes.data)
            return batch

        got = list(ds.map(noted).as_torch())
        assert [batch.data_ptr() for batch in got] == seen[-len(got) :]

    def test_given_a_nest_then_it_stays_and_text_is_lists(self) -> None:
        rows = {
            "pair": Pair(np.arange(3), (np.ones((3, 2)),)),
            "name": ["a", "b", "c"],
            "raw": [b"x", b"y", b"z"],
        }
        (batch,) = ps.Dataset.from_tensor_slices(rows).batch(3).as_torch()
        assert type(batch["pair"]) is Pair
        assert batch["pair"].first.tolist() == [0, 1, 2]
        assert batch["pair"].second[0].shape == (3, 2)
        assert batch["name"] == ["a", "b", "c"]
        assert batch["raw"] == [b"x", b"y", b"z"]
        single = next(iter(ps.Dataset.from_tensor_slices(rows).as_torch()))
        assert single["pair"].first.shape == () and single["name"] == "a"

    @pytest.mark.parametrize("name", PLAIN)
    def test_given_a_dtype_of_both_then_values_and_dtype_arrive(self, name: str) -> None:
        rows = np.array([0, 1, 2]).astype(name)
        (batch,) = ps.Dataset.from_tensor_slices(rows).batch(3).as_torch()
        assert batch.dtype == getattr(torch, name)
        assert batch.tolist() == rows.tolist()

    @pytest.mark.parametrize("rows", [np.array(["2020-01-01"], "M8[D]"), np.zeros(2, np.longdouble)])
    def test_given_a_dtype_that_torch_has_not_then_declaring_fails_with_the_line(self, rows: Any) -> None:
        with pytest.raises(ps.errors.ArgumentTypeError, match=r"at .*test_torch\.py:\d+: torch has no"):
            ps.Dataset.from_tensor_slices(rows).as_torch()

    def test_given_a_dtype_that_only_a_run_shows_then_the_element_fails_with_what_to_do(self) -> None:
        def dated(x: Any) -> Any:
            return np.array([int(x)], "M8[D]")

        it = iter(ps.Dataset.range(1).map(dated).as_torch())
        with pytest.raises(ps.errors.DataError, match=r"torch has no dtype datetime64\[D\]: map it"):
            next(it)

    def test_given_rows_that_run_backwards_then_they_are_copied(self) -> None:
        (row,) = ps.Dataset.range(1).map(lambda x: np.arange(4)[::-1]).as_torch()
        assert row.tolist() == [3, 2, 1, 0]

    def test_given_writable_then_writing_in_place_leaves_the_source_alone(self) -> None:
        rows = np.ones((4, 2), np.float32)
        for batch in ps.Dataset.from_tensor_slices(rows).batch(2).as_torch(writable=True):
            batch.mul_(5)
        assert rows.tolist() == [[1, 1]] * 4

    def test_given_a_tensor_or_a_view_of_one_then_its_bytes_stay_lent_until_it_is_dropped(self) -> None:
        ds = ps.Dataset.from_tensor_slices(np.zeros((64, 1 << 16), np.float32)).shuffle(8, seed=1).batch(1)
        with iter(ds.as_torch()) as it:
            kept = next(it)[0, :5]
            for _ in range(20):
                next(it)
            with_one = it.report().lent_bytes
            del kept
            assert with_one - it.report().lent_bytes >= 1 << 18


class TestDataLoader:
    @pytest.mark.parametrize("how", [{}, {"batch_size": 4, "shuffle": True}, {"num_workers": 1}])
    def test_given_a_dataset_itself_then_it_says_what_to_write_instead(self, how: Any) -> None:
        with pytest.raises(
            TypeError, match=r"(?s)range at .*Write DataLoader\(ds\.batch\(n\)\.as_torch\(\), "
        ):
            list(DataLoader(ps.Dataset.range(8), **how))

    @pytest.mark.parametrize(
        "ds",
        [ps.Dataset.range(8).filter(lambda x: x > 3), ps.Dataset.range(8).repeat()],
        ids=["filter", "repeat"],
    )
    def test_given_a_dataset_of_no_known_length_then_it_says_so_too(self, ds: ps.Dataset) -> None:
        with pytest.raises(TypeError, match=r"A DataLoader of torch takes ds\.as_torch\(\)"):
            list(DataLoader(ds))

    @pytest.mark.parametrize("workers", [0, 2])
    def test_given_workers_then_each_element_comes_once_and_passes_differ(self, workers: int) -> None:
        feed = ps.Dataset.range(100).shuffle(100).batch(10).as_torch()
        loader = DataLoader(feed, batch_size=None, num_workers=workers)
        first, second = numbers(loader), numbers(loader)
        assert sorted(first) == sorted(second) == list(range(100))
        assert first != second

    def test_given_workers_that_are_spawned_then_each_element_comes_once(self) -> None:
        feed = ps.Dataset.range(20).batch(4).as_torch()
        loader = DataLoader(feed, batch_size=None, num_workers=2, multiprocessing_context="spawn")
        assert sorted(numbers(loader)) == list(range(20))

    def test_given_elements_that_are_no_batches_then_the_loader_can_make_them(self) -> None:
        loader = DataLoader(ps.Dataset.range(6).as_torch(), batch_size=4)
        assert [batch.tolist() for batch in loader] == [[0, 1, 2, 3], [4, 5]]


class TestPasses:
    def test_when_an_epoch_is_said_then_it_is_that_ones_order_and_the_next_counts_on(self) -> None:
        ds = ps.Dataset.range(50).shuffle(50, seed=3)
        orders = [[int(x) for x in ds.iterate(epoch=epoch)] for epoch in range(9)]
        feed = ds.as_torch()
        feed.set_epoch(7)
        assert numbers(feed) == orders[7]
        assert numbers(feed) == orders[8]
        feed.set_epoch(2)
        assert numbers(feed) == orders[2]

    def test_given_a_state_as_json_then_another_feed_goes_on_with_the_rest_and_after_it(
        self,
    ) -> None:
        ds = ps.Dataset.range(60).shuffle(20, seed=1).batch(4)
        feed = ds.as_torch()
        it = iter(feed)
        for _ in range(5):
            next(it)
        saved = json.loads(json.dumps(feed.state_dict()))
        rest, following = numbers(it), numbers(feed)
        again = ds.as_torch()
        again.load_state_dict(saved)
        assert again.state_dict() == saved
        assert numbers(again) == rest
        assert numbers(again) == following

    def test_given_the_state_at_the_end_of_a_pass_then_the_next_pass_is_whole(self) -> None:
        ds = ps.Dataset.range(30).shuffle(30, seed=1)
        feed = ds.as_torch()
        it = iter(feed)
        numbers(it)
        saved = it.state_dict()
        following = numbers(feed)
        again = ds.as_torch()
        again.load_state_dict(saved)
        assert numbers(again) == following

    @pytest.mark.parametrize("how", ["broken off", "failed", "closed", "not begun"])
    def test_when_a_pass_was_left_then_the_state_is_where_it_stood(self, how: str) -> None:
        def made() -> Any:
            return ps.Dataset.range(60).shuffle(20, seed=1).batch(4).as_torch()

        def run(feed: Any) -> None:
            it = iter(feed)
            for batch in it if how != "not begun" else ():
                got.append(batch)
                if len(got) == 7:
                    if how == "failed":
                        raise RuntimeError("out of memory")
                    break
            if how == "closed":
                it.close()

        whole, feed, again, got = numbers(made()), made(), made(), list[Any]()
        before = living.copy()
        with suppress(RuntimeError):
            run(feed)
        gc.collect()
        assert all(run.closed for run in living - before)
        again.load_state_dict(json.loads(json.dumps(feed.state_dict())))
        assert numbers(again) == whole[4 * len(got) :]
        feed.set_epoch(3)
        assert feed.state_dict() == {"epoch": 3, "state": None}

    def test_given_a_left_pass_of_elements_in_any_order_then_only_its_state_is_refused(self) -> None:
        ds = ps.Dataset.range(60).map(lambda x: x, num_parallel_calls=2, deterministic=False)
        feed = ds.as_torch()
        next(iter(feed))
        gc.collect()
        with pytest.raises(ps.errors.ArgumentError, match="deterministic=False"):
            feed.state_dict()
        assert sorted(numbers(feed)) == list(range(60))

    def test_given_something_else_than_a_state_then_it_is_refused(self) -> None:
        feed = ps.Dataset.range(3).as_torch()
        with pytest.raises(ps.errors.ArgumentError, match="state_dict"):
            feed.load_state_dict({"weights": 1})
        with pytest.raises(ps.errors.ArgumentError, match="damaged"):
            feed.load_state_dict({"epoch": 0, "state": {"penstock": 1}})

    def test_given_the_state_of_an_iteration_or_the_other_way_round_then_it_is_said_where_it_goes(
        self,
    ) -> None:
        ds = ps.Dataset.range(9)
        feed, it = ds.as_torch(), iter(ds)
        next(it)
        with pytest.raises(ps.errors.ArgumentError, match=r"ds.iterate\(state=...\)"):
            feed.load_state_dict(it.state())
        with pytest.raises(ps.errors.ArgumentError, match="Give that to load_state_dict of the feed"):
            ds.iterate(state=feed.state_dict())

    def test_given_the_state_of_another_pipeline_then_the_error_says_where_it_was_loaded(self) -> None:
        feed, other = ps.Dataset.range(9).as_torch(), ps.Dataset.range(7).as_torch()
        it = iter(feed)
        next(it)
        other.load_state_dict(feed.state_dict())
        with pytest.raises(ps.errors.ArgumentError, match="another pipeline") as error:
            next(iter(other))
        assert "load_state_dict was given at tests/frameworks/test_torch.py" in str(error.value.__notes__)

    @pytest.mark.parametrize("context", ["fork", "spawn"])
    def test_given_workers_of_a_loader_then_there_is_no_state_to_be_had(self, context: str) -> None:
        feed = ps.Dataset.range(40).batch(4).as_torch()
        before = feed.state_dict()
        loader = DataLoader(feed, batch_size=None, num_workers=2, multiprocessing_context=context)
        it = iter(loader)
        next(it)
        with pytest.raises(ps.errors.ArgumentError, match="num_workers=0"):
            feed.state_dict()
        del it
        feed.load_state_dict(before)
        assert feed.state_dict() == before
        assert len(numbers(feed)) == 40
        assert feed.state_dict()["epoch"] == 1

    def test_when_a_pass_is_closed_then_no_thread_is_left_and_nothing_held(self) -> None:
        before = set(threading.enumerate())
        with iter(ps.Dataset.range(1000).prefetch(10).batch(2).as_torch()) as it:
            next(it)
        assert it.report().held == 0
        assert set(threading.enumerate()) - before == set()

    def test_given_a_failing_element_then_the_pass_goes_on_after_it(self) -> None:
        def fails(x: Any) -> Any:
            if x == 1:
                raise ValueError("one")
            return x

        it = iter(ps.Dataset.range(3).map(fails).as_torch())
        assert int(next(it)) == 0
        with pytest.raises(ps.errors.FunctionError):
            next(it)
        assert int(next(it)) == 2


class TestArguments:
    @pytest.mark.parametrize(
        "said, words",
        [
            ({"device": "no such"}, "device"),
            ({"prefetch": 2}, r"ds\.prefetch"),
            ({"shard": "row"}, "'auto', 'element' or 'file'"),
            ({"remainder": "cut"}, "'keep', 'drop' or 'pad'"),
            ({"remainder": "drop", "shard": None}, "Equal steps"),
            ({"memory": "much"}, "number of bytes"),
        ],
    )
    def test_given_a_wrong_argument_then_it_is_said_with_the_line(self, said: Any, words: str) -> None:
        with pytest.raises(ps.errors.ArgumentError, match=rf"test_torch\.py:\d+.*{words}"):
            ps.Dataset.range(3).as_torch(**said)

    @pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
    @pytest.mark.parametrize("said", [{"device": "cuda"}, {"pin_memory": True}])
    def test_given_no_gpu_then_asking_for_one_says_so(self, said: Any) -> None:
        with pytest.raises(ps.errors.ArgumentError, match=r"expected a GPU.*found none"):
            ps.Dataset.range(3).as_torch(**said)

    def test_given_no_torch_then_the_error_says_what_to_install(self, tmp_path: Path) -> None:
        code = (
            "import sys\nsys.modules['torch'] = None\nimport penstock as ps\n"
            "try:\n    ps.Dataset.range(3).as_torch()\n"
            "except ps.errors.PenstockError as error:\n    print(error)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert "pip install '.[torch]'" in done.stdout
