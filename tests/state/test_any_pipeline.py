"""Pipelines drawn at random, stopped anywhere, go on in another process with exactly the rest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.graph import track
from state.pipelines import Told, declared, events, write_files

LIMIT = 120
EXAMPLES = int(os.environ.get("PENSTOCK_STATE_EXAMPLES", "100"))
"""The same ones each time, unless more are asked for."""
GoOn = Callable[[Told, Any, int], list[str]]

SOURCES = st.tuples(st.sampled_from(["range", "slices", "generator", "lines", "records"]), st.integers(0, 60))
PARALLEL = st.sampled_from([None, 2, 4])
MAPS = st.tuples(st.just("map"), st.sampled_from(["double", "noisy", "noisy", "branchy", "picky"]), PARALLEL)
SHUFFLES = st.tuples(st.just("shuffle"), st.sampled_from([1, 3, 8, 30, 1000]))
ON_ALL = st.one_of(
    MAPS,
    MAPS,
    SHUFFLES,
    SHUFFLES,
    st.tuples(st.just("filter")),
    st.tuples(st.just("repeat"), st.integers(1, 3)),
    st.tuples(st.just("take"), st.integers(0, 50)),
    st.tuples(st.just("skip"), st.integers(0, 9)),
    st.tuples(st.just("prefetch"), st.integers(1, 9)),
    st.tuples(st.just("cache")),
    st.tuples(st.just("shard"), st.just(2), st.integers(0, 1)),
    st.tuples(st.just("flat_map")),
    st.tuples(st.just("interleave"), st.integers(1, 4), st.integers(1, 3), PARALLEL),
)
ON_NUMBERS = st.one_of(
    ON_ALL,
    st.tuples(st.just("scan")),
    st.tuples(st.just("sample"), st.booleans()),
    st.tuples(st.just("concatenate")),
    st.tuples(st.just("zip")),
    st.tuples(st.just("unique")),
)
BATCHES = st.one_of(
    st.tuples(st.just("batch"), st.integers(1, 7)),
    st.tuples(st.just("padded_batch"), st.integers(1, 7)),
    st.tuples(st.just("group"), st.integers(1, 5)),
    st.tuples(st.just("window"), st.integers(1, 5), st.integers(1, 6)),
)


@st.composite
def pipelines(draw: st.DrawFn) -> Told:
    told = [draw(SOURCES), *draw(st.lists(ON_NUMBERS, max_size=4))]
    if draw(st.booleans()):
        told += [draw(BATCHES), *draw(st.lists(ON_ALL, max_size=2))]
        if draw(st.booleans()):
            told.append(("prefetch", 2))
    return [list(op) for op in told]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("files")
    write_files(made)
    return made


@pytest.fixture(scope="module")
def go_on(folder: Path) -> Iterator[GoOn]:
    """Has one other process go on from a state; it serves all examples."""
    command = [sys.executable, str(Path(__file__).parent / "other_process.py"), str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None

        def ask(told: Told, state: Any, limit: int) -> list[str]:
            print(
                json.dumps({"pipeline": told, "state": state, "limit": limit}), file=process.stdin, flush=True
            )
            answer: list[str] = json.loads(process.stdout.readline())
            return answer

        yield ask
        process.stdin.close()


@settings(max_examples=EXAMPLES, derandomize=EXAMPLES == 100, suppress_health_check=list(HealthCheck))
@given(
    told=pipelines(),
    stop=st.integers(0, 60),
    block_rows=st.sampled_from([None, 1, 3, 64]),
    share=st.sampled_from([track.SHARE, float("inf")]),
    seed=st.sampled_from([None, 7]),
)
def test_given_any_pipeline_stopped_anywhere_then_another_process_gives_exactly_the_rest(
    told: Told, stop: int, block_rows: int | None, share: float, seed: int | None, folder: Path, go_on: GoOn
) -> None:
    ds = declared(told, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(track, "SHARE", share)
        with ds.with_options(ps.Options(block_rows=block_rows)).iterate(seed=seed, epoch=1) as it:
            events(it, stop)
            state = json.loads(json.dumps(it.state()))
            rest = events(it, LIMIT)
    assert go_on(told, state, LIMIT) == rest
