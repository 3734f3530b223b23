"""`shuffle`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract, drain, same


def numbers(ds: ps.Dataset, **how: Any) -> list[int]:
    return [int(x) for x in drain(ds, **how)]


def mixed(i: Any) -> dict[str, Any]:
    """An element with a leaf of every kind, whose shapes and lengths differ."""
    n = int(i)
    return {
        "array": np.arange(n % 5, dtype=np.int16),
        "bytes": b"x" * (n % 7),
        "text": "é" * (n % 3),
        "number": np.float32(n),
        "object": None if n % 2 else frozenset({n}),
    }


def row(i: Any) -> Any:
    return np.full(4, i)


def growing(i: Any) -> Any:
    return np.full(int(i) // 40 + 1, i)


def double(i: Any) -> Any:
    return i * 2


def noisy(x: Any) -> Any:
    return x * 1000 + ps.random.uniform()


class TestShuffle(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        pairs = (np.arange(180).reshape(60, 3), np.arange(60.0))
        words = [b"a", b"", b"ccc", b"dd", b"e"] * 11
        plain = ps.Dataset.range
        return {
            "indices": lambda: plain(120).shuffle(10),
            "whole": lambda: plain(120).shuffle(),
            "unknown": lambda: plain(120).shuffle(ps.UNKNOWN, seed=3),
            "larger than the data": lambda: plain(50).shuffle(1000),
            "one": lambda: plain(20).shuffle(1),
            "empty": lambda: plain(0).shuffle(4),
            "tuples": lambda: ps.Dataset.from_tensor_slices(pairs).shuffle(7),
            "bytes": lambda: ps.Dataset.from_tensor_slices({"w": words}).shuffle(8),
            "rows": lambda: plain(100).map(row).shuffle(9),
            "rows that grow": lambda: plain(80).map(growing).shuffle(9),
            "mixed": lambda: plain(90).map(mixed).shuffle(16),
            "sized in bytes": lambda: plain(100).map(row).shuffle("320B"),
            "uneven, in bytes": lambda: plain(90).map(mixed).shuffle("200B"),
            "twice": lambda: plain(60).shuffle(8).map(double).shuffle(5),
            "among random maps": lambda: (
                ps.Dataset.from_tensor_slices(np.arange(60.0))
                .map(noisy)
                .shuffle(7)
                .map(noisy)
                .shuffle(9)
                .map(noisy)
            ),
            "not again": lambda: plain(60).shuffle(8, reshuffle_each_iteration=False),
        }

    def test_given_any_size_then_every_element_comes_once(self) -> None:
        for size in (1, 2, 7, 99, 100, 101, None):
            assert sorted(numbers(ps.Dataset.range(100).shuffle(size))) == list(range(100))

    def test_given_a_buffer_of_one_then_the_order_stays(self) -> None:
        assert numbers(ps.Dataset.range(50).shuffle(1)) == list(range(50))

    def test_given_a_full_buffer_then_every_element_is_as_likely_in_every_place(self) -> None:
        size, epochs = 10, 4000
        ds = ps.Dataset.range(size).shuffle(size, seed=5)
        counts = np.zeros((size, size))
        for epoch in range(epochs):
            counts[np.arange(size), numbers(ds, epoch=epoch)] += 1
        expected = epochs / size
        chi_square = ((counts - expected) ** 2 / expected).sum()
        # 81 degrees of freedom: 99.99 % of uniform tables lie between these.
        assert 40 < chi_square < 137, chi_square

    def test_given_a_small_buffer_then_elements_come_late_but_never_too_early(self) -> None:
        n, size = 4000, 100
        order = np.array(numbers(ps.Dataset.range(n).shuffle(size, seed=1), limit=n))
        place = np.empty(n, int)
        place[order] = np.arange(n)
        delay = place - np.arange(n)
        assert delay.min() >= -(size - 1)
        # Each waits a geometric time of mean `size`: some wait several times as long.
        assert delay.max() > 4 * size
        assert abs((delay[: n // 2] + size - 1).mean() - (size - 1)) < size / 5

    def test_given_a_seed_then_epochs_differ_and_runs_repeat(self) -> None:
        ds = ps.Dataset.range(40).shuffle(40, seed=9)
        first, second = numbers(ds, epoch=0), numbers(ds, epoch=1)
        assert first != second
        again = ps.Dataset.range(40).shuffle(40, seed=9)
        assert [numbers(again, epoch=0), numbers(again, epoch=1)] == [first, second]
        fixed = ps.Dataset.range(40).shuffle(40, seed=9, reshuffle_each_iteration=False)
        assert numbers(fixed, epoch=0) == numbers(fixed, epoch=1)

    def test_given_no_seed_then_two_datasets_have_two_orders(self) -> None:
        one, two = (ps.Dataset.range(40).shuffle(40) for _ in range(2))
        assert numbers(one, seed=None) != numbers(two, seed=None)
        assert numbers(one, seed=4) == numbers(two, seed=4)

    def test_when_one_element_is_pulled_from_a_full_buffer_then_one_is_made(self) -> None:
        made = []

        def make(i: Any) -> Any:
            made.append(int(i))
            return i

        ds = ps.Dataset.range(1000).map(make).shuffle(50)
        with ds.with_options(ps.Options(optimize=False)).iterate() as it:
            next(it)
            assert len(made) == 51

    @pytest.mark.parametrize("size", [1, 5, 100, "40B", "4KiB", None])
    def test_given_failing_elements_then_each_costs_one_pull_and_none_is_lost(self, size: Any) -> None:
        def fail(i: Any) -> Any:
            if i % 7 == 3:
                raise ValueError(f"no {i}")
            return i

        streams = []
        for optimize in (True, False):
            for rows in (None, 1, 4, 64):
                ds = ps.Dataset.range(60).map(fail).shuffle(size)
                ds = ds.with_options(ps.Options(optimize=optimize, block_rows=rows))
                streams.append(with_failures(ds))
        assert sorted(x for x in streams[0] if x >= 0) == [i for i in range(60) if i % 7 != 3]
        assert sorted(-x for x in streams[0] if x < 0) == [i for i in range(60) if i % 7 == 3]
        assert all(stream == streams[0] for stream in streams)

    def test_given_every_element_fails_then_all_errors_come(self) -> None:
        ds = ps.Dataset.range(5).map(lambda i: 1 // 0).shuffle(2)
        with ds.iterate() as it:
            for _ in range(5):
                with pytest.raises(ps.errors.FunctionError):
                    next(it)
            assert list(it) == []

    def test_given_a_tiny_budget_then_rows_go_to_disk_and_the_order_is_the_same(self) -> None:
        def element(i: Any) -> Any:
            return {"a": np.full(3000, i), "i": i}

        for build in (element, lambda i: {"a": np.full(2000 + int(i), i), "s": str(i)}, mixed_big):
            ds = ps.Dataset.range(300).map(build).shuffle(150)
            expected = drain(ds)
            with ds.iterate(memory="1MiB", seed=7, epoch=0) as it:
                assert same(expected, list(it))
                assert it._run.ledger.peak <= 1 << 20
                notes = it._run.meters["shuffle"].notes
                assert any("scratch file" in note for note in notes)

    def test_given_a_buffer_larger_than_the_data_then_little_is_reserved(self) -> None:
        ds = ps.Dataset.range(100).map(lambda i: np.full(10, i)).shuffle(10_000_000)
        with ds.with_options(ps.Options(optimize=False)).iterate() as it:
            list(it)
            assert it._run.ledger.peak < 3 << 20

    def test_given_a_size_in_bytes_then_so_many_rows_are_held(self) -> None:
        made = []

        def make(i: Any) -> Any:
            made.append(i)
            return np.zeros(128, np.int64)

        with ps.Dataset.range(1000).map(make).shuffle("64KiB").iterate() as it:
            next(it)
        assert len(made) == 65

    def test_given_an_endless_dataset_then_the_whole_of_it_is_refused(self) -> None:
        class Endless:
            cardinality = ps.INFINITE

        from penstock.ops.shuffle import Shuffle

        with pytest.raises(ps.errors.ArgumentError, match=r"endless.*buffer_size"):
            Shuffle(inputs=(Endless(),))

    @pytest.mark.parametrize(
        ("size", "error"),
        [
            (0, ps.errors.ArgumentError),
            (-1, ps.errors.ArgumentError),
            ("many", ps.errors.ArgumentError),
            (1.5, ps.errors.ArgumentTypeError),
            (True, ps.errors.ArgumentTypeError),
        ],
    )
    def test_given_a_wrong_size_then_declaring_fails(self, size: Any, error: type[Exception]) -> None:
        with pytest.raises(error, match=r"shuffle.*test_shuffle\.py:\d+"):
            ps.Dataset.range(3).shuffle(size)


def mixed_big(i: Any) -> dict[str, Any]:
    return {**mixed(i), "more": np.full(2500, i)}


def with_failures(ds: ps.Dataset) -> list[int]:
    """All elements as numbers, and failed ones as the negative of theirs."""
    out = []
    with ds.iterate(seed=1, epoch=0) as it:
        while True:
            try:
                out.append(int(next(it)))
            except StopIteration:
                return out
            except ps.errors.FunctionError as error:
                out.append(-int(str(error.__cause__).split()[1]))


@pytest.mark.parametrize(
    ("declare", "words"),
    [
        (lambda ds: ds.shuffle(0), r"expected at least 1, ps\.UNKNOWN or None for the whole, got 0"),
        (lambda ds: ds.shuffle("big"), r"^shuffle\(buffer_size=\) at \S+: expected a number of bytes"),
        (lambda ds: ds.prefetch(-5), r"at least 0 or ps\.AUTOTUNE, got -5"),
        (
            lambda ds: ds.prefetch("AUTOTUNE"),
            r"^prefetch\(buffer_size=\) at \S+: expected ps\.AUTOTUNE itself",
        ),
        (lambda ds: ds.map(abs, num_parallel_calls=0), r"at least 1 or ps\.AUTOTUNE, got 0"),
        (lambda ds: len(ds.repeat()), r"take\(n\) or repeat\(n\)"),
    ],
)
def test_given_a_wrong_size_then_the_message_says_what_it_may_be(declare: Any, words: str) -> None:
    with pytest.raises((ps.errors.ArgumentError, TypeError), match=words):
        declare(ps.Dataset.range(3))


SIZES: dict[str, Callable[[int], int]] = {
    "large, then small": lambda x: 1 << 18 if x < 60 else 64,
    "some large": lambda x: 1 << 18 if x % 20 == 0 else 64,
    "small, then large": lambda x: 1 << 18 if x >= 500 else 64,
}


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("size", [60, "2MiB"])
def test_given_rows_of_many_sizes_then_the_budget_holds_and_the_order_stays(name: str, size: Any) -> None:
    def made(x: Any) -> Any:
        return np.full(SIZES[name](int(x)), int(x), np.int32)

    ds = ps.Dataset.range(600).map(made).shuffle(size, seed=3)
    with ds.iterate(memory="6MiB", epoch=0) as it:
        got = [int(x[0]) for x in it]
        report = it.report()
    assert sorted(got) == list(range(600))
    assert report.peak <= report.budget
    assert [int(x[0]) for x in ds.iterate(memory="1GiB", epoch=0)] == got
    for had in range(0, 600, 37):
        with ds.iterate(memory="6MiB", epoch=0) as it:
            for _ in range(had):
                next(it)
            state = it.state()
        with ds.iterate(memory="6MiB", state=state) as it:
            assert [int(next(it)[0]) for _ in range(min(30, 600 - had))] == got[had : had + 30]


def test_given_rows_of_many_sizes_that_fail_then_each_error_is_in_its_place() -> None:
    def made(x: Any) -> Any:
        if x % 7 == 3:
            raise ValueError("seven")
        return np.full(1 << 18 if x < 60 else 64, int(x), np.int32)

    ds = ps.Dataset.range(300).map(made).shuffle(50, seed=3)

    def events(memory: str) -> list[int]:
        found = []
        with ds.iterate(memory=memory, epoch=0) as it:
            while True:
                try:
                    found.append(int(next(it)[0]))
                except ps.errors.FunctionError as error:
                    found.append(-1 - (error.number or 0))
                except StopIteration:
                    return found

    assert events("6MiB") == events("1GiB")
    assert sorted(abs(x + 1) if x < 0 else x for x in events("6MiB")) == list(range(300))
