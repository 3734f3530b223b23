"""Windows, and batches of them, that `flat_map` reads at once: the stream is that of started datasets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import drain, same
from penstock.ops.batch import Batch
from penstock.ops.parts.kept_rows import KeptRows
from penstock.ops.zip import Zip

WORDS = np.array([b"a" * (i % 4) for i in range(23)], object)


def ragged(i: Any) -> Any:
    return np.arange(3 + (int(i) == 13))


WAYS: dict[str, Callable[[], ps.Dataset]] = {
    "themselves": lambda: ps.Dataset.range(23).window(4).flat_map(lambda w: w),
    "batches": lambda: ps.Dataset.range(23).window(4, 1).flat_map(lambda w: w.batch(4)),
    "larger batches": lambda: ps.Dataset.range(23).window(4, 3).flat_map(lambda w: w.batch(9)),
    "smaller batches": lambda: ps.Dataset.range(23).window(4, 3).flat_map(lambda w: w.batch(3)),
    "whole batches": lambda: ps.Dataset.range(23).window(4, 1).flat_map(lambda w: w.batch(4, True)),
    "whole ones of more": lambda: ps.Dataset.range(23).window(4, 1).flat_map(lambda w: w.batch(5, True)),
    "strides": lambda: ps.Dataset.range(23).window(4, 2, 3).flat_map(lambda w: w.batch(4)),
    "batches of batches": lambda: ps.Dataset.range(23).window(4).flat_map(lambda w: w.batch(4).batch(2)),
    "strings": lambda: ps.Dataset.from_tensor_slices(WORDS).window(4, 1).flat_map(lambda w: w.batch(4)),
    "pairs": lambda: (
        ps.Dataset.from_tensor_slices((np.arange(23), np.ones((23, 2))))
        .window(4, 1)
        .flat_map(lambda x, y: ps.Dataset.zip(x.batch(4), {"y": y.batch(4)}))
    ),
    "pairs of several lengths": lambda: (
        ps.Dataset.from_tensor_slices((np.arange(23), np.arange(23)))
        .window(4, 1)
        .flat_map(lambda x, y: ps.Dataset.zip(x.batch(4), y.batch(2)))
    ),
    "pairs of a batch and rows": lambda: (
        ps.Dataset.from_tensor_slices((np.arange(23), np.arange(23)))
        .window(4, 1)
        .flat_map(lambda x, y: ps.Dataset.zip(x.batch(4), y))
    ),
    "dicts": lambda: (
        ps.Dataset.from_tensor_slices({"a": np.arange(23)}).window(4).flat_map(lambda d: d["a"].batch(4))
    ),
    "one of two": lambda: (
        ps.Dataset.range(23).window(4).flat_map(lambda w: w.batch(4) if len(w) > 3 else w.skip(1).batch(4))
    ),
    "something else": lambda: ps.Dataset.range(23).window(4).flat_map(lambda w: w.map(lambda x: x + 1)),
}


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    def forbid() -> None:
        for op in (Batch, KeptRows, Zip):
            monkeypatch.setattr(op, "at_once", lambda *_: None)

    return forbid


@pytest.mark.parametrize("rows", [1, 3, None])
@pytest.mark.parametrize("name", WAYS)
def test_given_windows_then_the_stream_is_that_of_started_datasets(
    name: str, rows: int | None, started: Callable[[], None]
) -> None:
    ds = WAYS[name]().with_options(ps.Options(block_rows=rows))
    got = drain(ds)
    started()
    assert same(got, drain(ds))


@pytest.mark.parametrize("name", WAYS)
def test_given_a_state_at_any_place_then_both_go_on_from_it(name: str, started: Callable[[], None]) -> None:
    ds = WAYS[name]()
    everything, states = drain(ds), []
    with ds.iterate(epoch=0) as it:
        states.append(it.state())
        for _ in it:
            states.append(it.state())  # noqa: PERF401
    for taken, state in enumerate(states):
        assert same(list(ds.iterate(state=state)), everything[taken:])
    started()
    for taken, state in enumerate(states):
        assert same(list(ds.iterate(state=state)), everything[taken:])


def test_given_rows_of_several_shapes_then_the_error_names_the_batch() -> None:
    ds = ps.Dataset.range(20).map(ragged).window(4).flat_map(lambda w: w.batch(4))
    with pytest.raises(ps.errors.DataError, match=r"batch at .*test_at_once\.py:\d+: expected"):
        drain(ds)


def test_given_a_batch_that_is_changed_then_other_windows_are_not() -> None:
    ds = ps.Dataset.range(8).window(4, 1, drop_remainder=True).flat_map(lambda w: w.batch(4))
    got = []
    for batch in ds:
        got.append(batch.tolist())
        if batch.flags.writeable:
            batch[:] = -1
    assert got == [list(range(i, i + 4)) for i in range(5)]


def test_given_plain_windows_then_no_dataset_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.engine.context.StageContext.open", None)
    ds = ps.Dataset.range(50).window(4, 1, drop_remainder=True).flat_map(lambda w: w.batch(4))
    assert len(drain(ds)) == 47


def test_given_rows_larger_than_the_first_then_they_are_not_read_at_once() -> None:
    rows = np.array([b"", *[bytes(100_000)] * 9], object)
    seen = []

    def looked_at(window: Any) -> Any:
        seen.append(window.op.at_once(np.empty))
        return window

    assert len(drain(ps.Dataset.from_tensor_slices(rows).window(10).flat_map(looked_at))) == 10
    assert seen == [None]
