"""What a run tells of itself."""

from __future__ import annotations

import json

import numpy as np
import pytest

import penstock as ps


def images() -> ps.Dataset:
    return ps.Dataset.from_tensor_slices(np.zeros((100, 8, 8), np.uint8))


def test_given_a_run_then_the_report_counts_each_ops_elements_and_bytes() -> None:
    with images().map(lambda x: x + 1).batch(10).iterate(memory="32MiB") as it:
        for _ in it:
            pass
        report = it.report()
    assert [(op.name, op.elements) for op in report.ops] == [
        ("from_tensor_slices", 100),
        ("map", 100),
        ("batch", 10),
    ]
    assert report.budget == 32 << 20
    source, mapped, _ = report.ops
    assert source.peak == 0, "the user's own arrays are on no account"
    assert 64 <= mapped.peak <= 32 << 20
    assert report.peak <= report.budget


def test_given_two_ops_of_one_name_then_the_report_tells_them_apart() -> None:
    with ps.Dataset.range(4).map(abs).batch(2).map(abs).iterate() as it:
        list(it)
        names = [op.name for op in it.report().ops]
    assert names == ["range", "map#1", "batch", "map#3"]


def test_given_failures_then_the_report_counts_them() -> None:
    def fails(x: np.int64) -> np.int64:
        if x % 3 == 0:
            raise ValueError("third")
        return x

    with ps.Dataset.range(7).map(fails).ignore_errors().iterate() as it:
        assert [int(x) for x in it] == [1, 2, 4, 5]
        report = it.report()
    assert {op.name: op.failed for op in report.ops}["map"] == 3
    assert "3 elements failed" in str(report)


def test_the_report_is_plain_data_and_a_table() -> None:
    with images().batch(10).iterate(memory="32MiB") as it:
        list(it)
        report = it.report()
    data = json.loads(json.dumps(report.as_dict()))
    assert data["budget"] == 32 << 20
    assert [op["name"] for op in data["ops"]] == ["from_tensor_slices", "batch"]
    lines = str(report).splitlines()
    assert lines[0].split() == ["op", "elements", "held", "now", "at", "most", "time"]
    assert any(line.startswith("batch") and " 10 " in line for line in lines)
    assert "budget 32 MiB" in str(report)


def test_when_the_run_has_ended_then_its_report_can_still_be_read() -> None:
    it = images().batch(10).iterate()
    list(it)
    assert it.report().ops[-1].elements == 10
    assert it.report().held == 0


def test_explain_shows_what_was_declared_what_runs_and_why() -> None:
    ds = images().map(lambda x: x + 1).shuffle(50, seed=1).batch(10)
    explained = ds.explain(memory="64MiB")
    for word in ("declared:", "runs as:", "because:", "shuffle", "hoist_shuffle", "64 MiB"):
        assert word in explained
    data = json.loads(json.dumps(explained.as_dict()))
    assert [op["op"] for op in data["declared"]] == ["from_tensor_slices", "map", "shuffle", "batch"]
    assert [op["op"] for op in data["plan"]] == ["from_tensor_slices", "shuffle", "map", "batch"]
    off = ds.with_options(ps.Options(optimize=False)).explain().as_dict()
    assert off["plan"] == off["declared"]
    assert off["changes"] == []


def test_given_one_element_and_little_memory_then_the_report_says_so_in_words() -> None:
    with images().batch(100).map(lambda x: x + 1).iterate(memory="64MiB") as it:
        kept = next(it)
        text = str(it.report())
    assert len(kept) == 100
    assert "1 element, " in text
    assert "at most <1% of it used at one time" in text
    assert any(line.startswith("all at one time") for line in text.splitlines())


def test_given_idle_buffers_then_the_report_shows_their_most() -> None:
    with ps.Dataset.range(64).map(lambda i: np.zeros(1 << 15) + i).batch(2).iterate(memory="64MiB") as it:
        for _ in it:
            pass
        report = it.report()
    assert report.idle_peak > 0
    assert report.as_dict()["idle_peak"] == report.idle_peak
    (idle,) = [line for line in str(report).splitlines() if line.startswith("idle buffers")]
    assert "iB" in idle


@pytest.mark.parametrize(
    ("ds", "text"),
    [
        (ps.Dataset.range(9).batch(4), "batch(4)  ["),
        (ps.Dataset.range(9).batch(4, drop_remainder=True), "batch(4, drop_remainder=True)"),
        (ps.Dataset.range(9).map(lambda x: x), "map(<lambda>)"),
        (ps.Dataset.range(9).shuffle(10_000, seed=1), "shuffle(10000, seed=1)"),
        (ps.Dataset.range(9).shuffle("1MiB"), "shuffle('1MiB')"),
        (ps.Dataset.range(9).shuffle(seed=1), "shuffle(seed=1)"),
        (ps.Dataset.range(9).prefetch(ps.AUTOTUNE), "prefetch(AUTOTUNE)"),
        (ps.Dataset.range(9), "range(9)"),
        (ps.Dataset.range(1, 9), "range(1, 9)"),
        (ps.Dataset.range(1, 9, 2, output_type=np.int32), "range(1, 9, 2, output_type=int32)"),
        (ps.Dataset.range(9).shard(3, 1), "shard(3, 1)"),
        (ps.Dataset.range(9).scan(0, lambda s, x: (s, x)), "scan(scan_func=<lambda>)"),
        (ps.Dataset.range(9).window(3, shift=1), "window(3, shift=1)"),
        (ps.Dataset.range(1), "[1 element, "),
    ],
)
def test_explain_shows_ops_as_they_are_written(ds: ps.Dataset, text: str) -> None:
    assert text in ds.explain()


def test_given_nothing_to_change_then_explain_shows_the_ops_once() -> None:
    text = ps.Dataset.range(9).batch(4).explain()
    assert "runs as declared" in text
    assert text.count("batch(4)") == 1


def test_given_a_shuffle_that_was_moved_then_explain_shows_what_it_shuffles() -> None:
    explained = images().map(lambda x: x.astype(np.float64)).shuffle(50, seed=1).explain()
    declared, runs = explained.split("runs as:")
    assert "shuffle(50, seed=1)  [100 elements, 512 B each]" in declared
    assert "shuffle(50, seed=1)  [100 elements, 64 B each]" in runs
    (shuffle,) = [op for op in explained.as_dict()["plan"] if op["op"] == "shuffle"]
    assert shuffle["element_bytes"] == 64
