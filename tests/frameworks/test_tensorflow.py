"""Datasets of Penstock in TensorFlow, and TensorFlow's in Penstock: the real one, in a process of its own."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys

import pytest

import penstock as ps
from frameworks.running import HERE, LONGEST, names_in, outcomes, quiet, started

pytestmark = pytest.mark.timeout(2 * LONGEST)  # the first test waits for whole processes


@pytest.mark.parametrize("check", names_in("checks_tensorflow.py"))
def test_in_tensorflow(check: str) -> None:
    found = started("checks_tensorflow.py")
    started("checks_from_tensorflow.py")
    said = found.result()[check]
    assert not said, said


@pytest.mark.parametrize("check", names_in("checks_from_tensorflow.py"))
def test_from_tensorflow(check: str) -> None:
    said = outcomes("checks_from_tensorflow.py")[check]
    assert not said, said


def test_given_no_tensorflow_then_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    with pytest.raises(ps.errors.PenstockError, match=r"pip install '\.\[tensorflow\]'"):
        ps.Dataset.range(3).as_tensorflow()
    with pytest.raises(ps.errors.PenstockError, match=r"pip install '\.\[tensorflow\]'"):
        ps.from_tensorflow(None)


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def test_given_two_workers_when_each_reads_its_shard_then_every_element_is_read_once_and_both_agree() -> None:
    workers = [f"127.0.0.1:{port}" for port in free_ports(2)]
    processes = []
    for index in range(2):
        task = {"cluster": {"worker": workers}, "task": {"type": "worker", "index": index}}
        processes.append(
            subprocess.Popen(
                [sys.executable, str(HERE / "multi_worker.py")],
                env={**os.environ, **quiet(), "TF_CONFIG": json.dumps(task)},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    try:
        said = [process.communicate(timeout=LONGEST) for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0, 0], said
    found = [json.loads(out.splitlines()[-1]) for out, _ in said]
    own = [worker["own shard"] for worker in found]
    assert sorted(own[0] + own[1]) == list(range(64))
    assert own[0] and own[1]
    by_tensorflow = [worker["sharded by TensorFlow"] for worker in found]
    assert sorted(by_tensorflow[0] + by_tensorflow[1]) == list(range(64))
    assert found[0]["sums"] == found[1]["sums"]
    assert sum(found[0]["sums"]) == sum(range(64))
