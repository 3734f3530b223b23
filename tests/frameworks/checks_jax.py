"""`as_jax`, with the real JAX on the CPU. Run by `test_jax.py`, in a process of its own."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps

jax = pytest.importorskip("jax")
ml_dtypes = pytest.importorskip("ml_dtypes")


def numbers(feed: Any) -> list[int]:
    return [int(x) for batch in feed for x in np.asarray(batch).reshape(-1)]


@pytest.mark.parametrize("prefetch", [None, 1, 3, "64KiB"])
class TestElements:
    def test_given_a_nest_then_it_stays_and_text_is_lists(self, prefetch: Any) -> None:
        rows = {"x": np.arange(6, dtype=np.float32), "s": ["a", "b"] * 3, "t": (np.ones((6, 2), np.int8),)}
        batches = list(ps.Dataset.from_tensor_slices(rows).batch(4).as_jax(prefetch=prefetch))
        assert all(isinstance(batch["x"], jax.Array) for batch in batches)
        assert np.concatenate([batch["x"] for batch in batches]).tolist() == [0, 1, 2, 3, 4, 5]
        assert batches[1]["s"] == ["a", "b"]
        assert batches[0]["t"][0].dtype == np.int8

    def test_given_arrays_that_are_kept_then_later_batches_do_not_change_them(self, prefetch: Any) -> None:
        ds = ps.Dataset.range(40).map(lambda n: np.zeros((64, 1024), np.float32) + n)
        kept = list(ds.as_jax(prefetch=prefetch))
        assert [(float(x.min()), float(x.max())) for x in kept] == [(n, n) for n in range(40)]

    def test_given_a_failing_element_then_it_is_raised_in_its_place(self, prefetch: Any) -> None:
        def fails(x: Any) -> Any:
            if x == 1:
                raise ValueError("one")
            return x

        it = iter(ps.Dataset.range(3).map(fails).as_jax(prefetch=prefetch))
        assert int(next(it)) == 0
        with pytest.raises(ps.errors.FunctionError):
            next(it)
        assert int(next(it)) == 2
        with pytest.raises(StopIteration):
            next(it)

    def test_when_a_pass_is_closed_early_then_no_thread_is_left_and_nothing_held(self, prefetch: Any) -> None:
        with iter(ps.Dataset.counter().batch(1000).as_jax(prefetch=prefetch)) as it:
            next(it)
        assert it.report().held == 0
        assert not [one for one in threading.enumerate() if one.name.startswith("penstock")]

    def test_given_a_state_then_another_feed_goes_on_behind_the_last_element_given(
        self, prefetch: Any
    ) -> None:
        ds = ps.Dataset.range(60).shuffle(20, seed=1).batch(4)
        feed = ds.as_jax(prefetch=prefetch)
        it = iter(feed)
        for _ in range(5):
            next(it)
        saved = json.loads(json.dumps(feed.state_dict()))
        rest = numbers(it)
        again = ds.as_jax(prefetch=prefetch)
        again.load_state_dict(saved)
        assert numbers(again) == rest


def test_given_a_bound_in_bytes_then_no_more_is_ready() -> None:
    ds = ps.Dataset.range(50).map(lambda n: np.zeros(1024, np.float32) + n)  # 4 KiB each
    it = iter(ds.as_jax(prefetch="16KiB"))
    assert [int(x[0]) for x in it] == list(range(50))
    assert 4096 <= it.device_peak <= 16384


def test_given_an_array_with_the_memory_of_a_run_then_that_stays_lent_while_it_lives() -> None:
    ds = ps.Dataset.from_tensor_slices(np.zeros((64, 1 << 16), np.float32)).shuffle(8, seed=1).batch(1)
    with iter(ds.as_jax()) as it:
        kept = next(it)
        for _ in range(20):
            next(it)
        gc.collect()
        with_one = it.report().lent_bytes
        assert with_one >= 1 << 18
        del kept
        gc.collect()
        next(it)
        assert it.report().lent_bytes <= with_one


def test_given_a_feed_that_is_dropped_in_the_middle_then_its_thread_ends() -> None:
    it = iter(ps.Dataset.counter().batch(100).as_jax(prefetch=2))
    next(it)
    del it
    gc.collect()
    assert not [one for one in threading.enumerate() if one.name.startswith("penstock-to-jax")]


def test_given_whole_numbers_beyond_32_bits_then_the_element_fails_instead_of_being_cut() -> None:
    it = iter(ps.Dataset.from_tensor_slices(np.array([1, 2**40])).as_jax())
    assert int(next(it)) == 1
    with pytest.raises(ps.errors.DataError, match=r"1099511627776 do not fit.*jax_enable_x64"):
        next(it)


@pytest.mark.parametrize(
    "ds, said, words",
    [
        (ps.Dataset.range(3), {"sharding": "rows"}, "expected a sharding or a device of JAX"),
        (ps.Dataset.from_tensor_slices(np.array(["2020"], "M8[Y]")), {}, "JAX has no dtype datetime64"),
        (ps.Dataset.from_tensor_slices({"a": [1], "b": [2]}), {"sharding": {"a": None}}, "nothing for 'b'"),
        (ps.Dataset.range(3), {"sharding": {"a": None}}, "got a dict where they have none"),
        (ps.Dataset.range(3).enumerate(), {"sharding": (None,)}, "got 1 where they have 2 parts"),
        (ps.Dataset.range(3), {"prefetch": 0}, "expected at least 1"),
        (ps.Dataset.range(3), {"shard": "row"}, "expected 'auto'"),
    ],
)
def test_given_a_wrong_argument_then_it_is_said_with_the_line(ds: ps.Dataset, said: Any, words: str) -> None:
    with pytest.raises(ps.errors.PenstockError, match=rf"checks_jax\.py:\d+.*{words}"):
        ds.as_jax(**said)


def test_given_shardings_unlike_the_elements_when_these_are_seen_then_it_is_said() -> None:
    feed = ps.Dataset.from_generator(lambda: iter([{"a": 1, "b": 2}])).as_jax({"a": None})
    with pytest.raises(ps.errors.DataError, match=r"expected shardings in a nest .* nothing for 'b'"):
        next(iter(feed))


def test_given_four_devices_then_batches_are_shared_out_over_them() -> None:
    script = str(Path(__file__).with_name("jax_devices.py"))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    for prefetch in (None, 2):
        assert seen[f"shards {prefetch}"] == [[2, 4]] * 4
        assert seen[f"values {prefetch}"] == np.arange(64.0).reshape(16, 4).tolist()
    assert seen["by leaf"] == [4, 1]
    assert seen["number"] == [7.0] * 4
    assert "shape (7,) cannot be shared out" in seen["uneven"] and "drop_remainder" in seen["uneven"]
    assert "2" in seen["one device"]


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_given_low_precision_then_the_bytes_arrive_as_they_are(name: str) -> None:
    rows = np.arange(12).astype(getattr(ml_dtypes, name, name))
    (batch,) = ps.Dataset.from_tensor_slices(rows).batch(12).as_jax()
    assert batch.dtype == rows.dtype
    assert np.asarray(batch).tobytes() == rows.tobytes()
