"""Real processes that train together: each element once over all of them, equal steps on request."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps

WORLD = 2


def fed(kind: str, folder: Path) -> list[dict[str, Any]]:
    """What each of the processes was fed."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    script = str(Path(__file__).with_name("ranks.py"))
    running = [
        subprocess.Popen(
            [sys.executable, script, kind, str(rank), str(WORLD), port, str(folder)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(WORLD)
    ]
    try:
        done = [process.communicate(timeout=150) for process in running]
    finally:
        for process in running:
            process.kill()
            process.wait()
    for process, (_, said) in zip(running, done, strict=True):
        assert process.returncode == 0, said
    return [json.loads(out.splitlines()[-1]) for out, _ in done]


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("records")
    for number in range(4):
        with ps.io.TFRecordWriter(str(folder / f"{number}.tfrecord")) as writer:
            for row in range(5):
                writer.write(np.int64(10 * number + row).tobytes())
    return folder


@pytest.fixture(scope="module")
def torch_ranks(records: Path) -> list[dict[str, Any]]:
    pytest.importorskip("torch")
    return fed("torch", records)


@pytest.fixture(scope="module")
def accelerate_ranks(records: Path) -> list[dict[str, Any]]:
    pytest.importorskip("accelerate")
    return fed("accelerate", records)


@pytest.fixture(scope="module")
def jax_ranks(records: Path) -> list[dict[str, Any]]:
    pytest.importorskip("jax")
    return fed("jax", records)


OF_FILES = [10 * number + row for number in range(4) for row in range(5)]


def together(ranks: list[dict[str, Any]], name: str) -> list[int]:
    return sorted(x for one in ranks for x in one[name])


class TestTorch:
    @pytest.mark.parametrize(
        "name, expected",
        [
            ("launched", [*range(37)]),
            ("shuffled", [*range(37)]),
            ("with workers", [*range(37)]),
            ("files", OF_FILES),
            ("listed", OF_FILES),
        ],
    )
    def test_given_a_group_then_each_element_comes_once_over_all_ranks(
        self, torch_ranks: list[dict[str, Any]], name: str, expected: list[int]
    ) -> None:
        assert together(torch_ranks, name) == expected
        assert all(one[name] for one in torch_ranks)

    @pytest.mark.parametrize("name", ["files", "listed"])
    def test_given_files_then_no_file_is_read_by_two_ranks(
        self, torch_ranks: list[dict[str, Any]], name: str
    ) -> None:
        first, second = ({x // 10 for x in one[name]} for one in torch_ranks)
        assert len(first) == len(second) == 2 and not first & second

    def test_given_drop_then_all_ranks_have_as_many_steps_and_no_element_twice(
        self, torch_ranks: list[dict[str, Any]]
    ) -> None:
        assert [len(one["dropped"]) for one in torch_ranks] == [18, 18]
        assert len(set(together(torch_ranks, "dropped"))) == 36

    def test_given_pad_after_a_filter_then_all_ranks_have_as_many_steps_and_every_element_is_there(
        self, torch_ranks: list[dict[str, Any]]
    ) -> None:
        assert [len(one["padded"]) for one in torch_ranks] == [9, 9]
        assert set(together(torch_ranks, "padded")) == {x for x in range(50) if x % 3 == 0}

    def test_given_no_sharding_then_every_rank_has_all(self, torch_ranks: list[dict[str, Any]]) -> None:
        assert [one["all"] for one in torch_ranks] == [[*range(9)]] * 2

    def test_given_a_rank_then_the_length_is_its_own(self, torch_ranks: list[dict[str, Any]]) -> None:
        assert [one["length"] for one in torch_ranks] == [[5], [5]]


@pytest.mark.parametrize("name", ["dispatched", "sharded", "as it is"])
def test_given_accelerate_then_each_element_comes_once_whoever_shares_them_out(
    name: str, accelerate_ranks: list[dict[str, Any]]
) -> None:
    assert together(accelerate_ranks, name) == [*range(40)]
    assert all(one[name] for one in accelerate_ranks)


class TestJax:
    @pytest.mark.parametrize("name", ["by number", "rows"])
    def test_given_two_processes_then_each_element_is_on_one_of_them(
        self, jax_ranks: list[dict[str, Any]], name: str
    ) -> None:
        assert together(jax_ranks, name) == [*range(32)]

    def test_given_rows_over_all_devices_then_a_batch_is_that_of_all_processes(
        self, jax_ranks: list[dict[str, Any]]
    ) -> None:
        assert [one["shape"] for one in jax_ranks] == [[[8]], [[8]]]

    def test_given_a_copy_on_every_device_then_all_processes_read_the_same(
        self, jax_ranks: list[dict[str, Any]]
    ) -> None:
        assert jax_ranks[0]["everywhere"] == jax_ranks[1]["everywhere"]
        assert sorted(jax_ranks[0]["everywhere"]) == sorted([*range(32)] * 2)
