"""Pipelines on a Ray cluster of three nodes, one of which dies now and then. Run by `test_ray.py`."""

from __future__ import annotations

import json
import logging
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import ray
import ray.data
from ray.cluster_utils import Cluster

import penstock as ps
from contract.op_contract import same
from frameworks.running import run_checks, run_guide

FILE = "../cluster/checks_ray.py"
NODE = {"num_cpus": 1, "object_store_memory": 80 << 20}
QUICK = {"health_check_period_ms": 500, "health_check_timeout_ms": 2000, "health_check_failure_threshold": 4}
"""A node that is gone is found out in seconds."""


class Nodes:
    """The cluster of all checks: the head, on which this process runs, and two more."""

    def __init__(self) -> None:
        head = {**NODE, "include_dashboard": False, "_system_config": QUICK}
        self.cluster = Cluster(initialize_head=True, head_node_args=head)
        self.others = [self._another() for _ in range(2)]
        ray.init(address=self.cluster.address, log_to_driver=False, logging_level=logging.CRITICAL)

    def _another(self) -> Any:
        """One more node. Ray gives each half a minute, which a busy machine may not have."""
        for _ in range(3):
            with suppress(Exception):
                return self.cluster.add_node(**NODE)
        return self.cluster.add_node(**NODE)

    @contextmanager
    def one_dies(self) -> Iterator[Callable[[], None]]:
        """What kills a node; there are three again in the end."""
        node = self.others.pop()
        yield lambda: self.cluster.remove_node(node, allow_graceful=False)
        self.others.append(self._another())

    def close(self) -> None:
        ray.shutdown()
        self.cluster.shutdown()


def outcome(it: Any) -> list[Any]:
    """The elements of an iteration, with the texts of errors in their places."""
    seen: list[Any] = []
    while True:
        try:
            seen.append(next(it))
        except StopIteration:
            return seen
        except ps.errors.ElementError as error:
            seen.append((type(error).__name__, str(error), error.op, error.number))


def drained(ds: ps.Dataset, **how: Any) -> list[Any]:
    with ds.iterate(seed=5, epoch=2, **how) as it:
        return outcome(it)


def richly(x: Any) -> dict[str, Any]:
    """An element of all kinds of leaves, made with random numbers."""
    count = int(x) % 4
    return {
        "x": x,
        "text": f"é{x}",
        "raw": bytes([count]) * count,
        "ragged": np.arange(count, dtype=np.int16),
        "noise": ps.random.normal((3,)).astype(np.float32),
    }


def slowly(x: Any) -> Any:
    time.sleep(0.01)
    return x, ps.random.uniform()


def wait_until(there: Callable[[], bool]) -> None:
    """Wait for what comes by itself; a minute is for ever."""
    until = time.monotonic() + 60
    while not there():
        assert time.monotonic() < until
        time.sleep(0.05)


def given_two_maps_and_more_after_them_then_the_stream_is_that_of_one_machine() -> None:
    above = ps.Dataset.range(500).shuffle(50).map(lambda x: x + 1).map(richly)
    plain = above.shuffle(100).map(lambda row: {**row, "more": ps.random.uniform()})
    away = above.distribute(workers=2).shuffle(100).map(lambda row: {**row, "more": ps.random.uniform()})
    assert same(drained(away), drained(plain))
    assert "in 2 Ray workers" in str(away.explain())


def given_a_node_that_dies_in_the_middle_then_every_element_comes_once_and_in_order() -> None:
    ds = ps.Dataset.range(600).map(slowly)
    with NODES.one_dies() as die, ds.distribute(workers=3).iterate(seed=5, epoch=2) as it:
        got = [next(it) for _ in range(60)]
        die()
        got += list(it)
        assert "lost workers" in str(it.report())
    assert same(got, drained(ds))


def given_elements_that_fail_then_errors_and_numbers_are_those_of_one_machine() -> None:
    def often_fails(x: Any) -> Any:
        if x % 7 == 3:
            raise ValueError(f"no {x}")
        return x

    ds = ps.Dataset.range(60).map(often_fails).map(lambda x: (x, ps.random.uniform()))
    got = drained(ds.distribute(workers=2))
    assert len(got) == 60
    assert got == drained(ds)


def given_an_element_that_kills_workers_then_it_alone_is_an_error() -> None:
    def dies(x: Any) -> Any:
        if x == 2:
            os.abort()
        return x

    got = drained(ps.Dataset.range(5).map(dies).distribute(workers=1))
    assert [int(x) for x in got if not isinstance(x, tuple)] == [0, 1, 3, 4]
    assert got[2][0] == "WorkerError" and "element 2" in got[2][1]


def given_large_elements_then_the_bytes_on_their_way_stay_in_the_budget() -> None:
    budget = 16 << 20
    ds = ps.Dataset.range(120).map(lambda x: np.full(1 << 17, x))  # a MiB each
    with ds.distribute(workers=2).iterate(memory=budget) as it:
        got = [int(row[0]) for row in it]
        assert it._run.ledger.peak <= budget
        [held] = [op.peak for op in it.report().ops if op.name == "distribute"]
        assert held >= 2 << 20  # they were counted
    assert got == list(range(120))
    it._run.ledger.settle()
    assert it._run.ledger.held == 0


def given_a_run_that_is_closed_while_somebody_waits_then_its_actors_end() -> None:
    wait_until(lambda: ray.available_resources().get("CPU", 0) == 3)
    it = ps.Dataset.range(8).map(lambda x: time.sleep(600)).distribute(workers=3).iterate()
    raised: list[BaseException] = []

    def ask() -> None:
        try:
            next(it)
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    wait_until(lambda: ray.available_resources().get("CPU", 0) == 0)
    it.close()
    thread.join()
    assert isinstance(raised[0], ps.errors.ClosedError)
    wait_until(lambda: ray.available_resources().get("CPU", 0) == 3)


def given_a_state_then_a_run_with_more_workers_goes_on_with_exactly_the_rest() -> None:
    def made(workers: int) -> ps.Dataset:
        ds = ps.Dataset.range(300).shuffle(40).map(lambda x: (x, ps.random.uniform()))
        return ds.distribute(workers=workers).batch(7)

    with made(1).iterate(seed=5) as it:
        seen = [next(it) for _ in range(20)]
        state = json.loads(json.dumps(it.state()))
        rest = list(it)
    with made(2).iterate(state=state) as it:
        assert same(list(it), rest)
    assert len(seen) + len(rest) == 43


def given_two_trainers_then_each_element_comes_to_one_of_them() -> None:
    ds = ps.Dataset.range(101).map(lambda x: x * 2).distribute(workers=1)
    with ds.shard(2, 0).iterate() as left, ds.shard(2, 1).iterate() as right:
        got: list[list[int]] = [[], []]
        while True:
            rows = [next(left, None), next(right, None)]
            if rows == [None, None]:
                break
            for mine, row in zip(got, rows, strict=True):
                mine += [] if row is None else [int(row)]
    assert got == [list(range(0, 202, 4)), list(range(2, 202, 4))]


def records_in(folder: Path) -> str:
    """A file of records, which cannot be read from its middle on."""
    name = str(folder / "in.tfrecord")
    with ps.io.TFRecordWriter(name, "GZIP") as writer:
        for number in range(400):
            writer.write(str(number).encode())
    return name


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(".")}


def given_a_dataset_then_tasks_write_the_files_of_one_process() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ds = ps.TFRecordDataset(records_in(folder), "GZIP").apply(ps.assert_cardinality(400))
        ds = ds.map(int).map(lambda x: {"x": x, "noise": ps.random.normal((5,)), "name": "n" * (x % 3)})
        ds.write_tfrecord(folder / "one", shards=13, compression="GZIP", seed=3)
        written = ds.write_tfrecord(folder / "many", shards=13, compression="GZIP", seed=3, engine="ray")
        assert written.elements == 400
        assert contents(folder / "many") == contents(folder / "one")


def given_a_node_that_dies_while_shards_are_written_then_all_are_there_and_whole() -> None:
    with tempfile.TemporaryDirectory() as name, NODES.one_dies() as die:
        folder = Path(name)
        ds = ps.Dataset.range(600).map(lambda x: {"x": x, "y": slowly(x)[1]})
        ds.write_tfrecord(folder / "one", shards=12)

        def kill() -> None:
            wait_until(lambda: (folder / "many").exists() and len(contents(folder / "many")) > 2)
            die()

        killer = threading.Thread(target=kill)
        killer.start()
        ds.write_tfrecord(folder / "many", shards=12, engine="ray")
        killer.join()
        assert contents(folder / "many") == contents(folder / "one")


def given_shards_that_are_missing_or_damaged_then_the_same_call_puts_them_right() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        good = folder / "good"

        def made(x: Any) -> Any:
            if good.exists() or x < 70:
                return {"x": x}
            raise ValueError("not yet")

        ds = ps.Dataset.range(90).map(made)
        try:
            ds.write_tfrecord(folder / "out", shards=9, engine="ray")
        except ps.errors.FunctionError as error:
            assert "map at" in str(error) and "element 70" in str(error)
            assert "7 shards are complete" in error.__notes__[-1]
        else:
            raise AssertionError("it was written")
        good.touch()
        first = folder / "out" / "data-00000-of-00009.tfrecord"
        first.write_bytes(first.read_bytes()[:-1] + b"?")
        written = ds.write_tfrecord(folder / "out", shards=9, engine="ray")
        features = {"x": ps.io.FixedLenFeature([], np.int64)}
        rows = ps.TFRecordDataset(written.shards).map(lambda r: ps.io.parse_single_example(r, features)["x"])
        assert [int(x) for x in rows] == list(range(90))


def given_a_dataset_of_ray_then_its_rows_come_with_their_spec() -> None:
    ray.data.DataContext.get_current().execution_options.preserve_order = True
    ray.data.DataContext.get_current().enable_progress_bars = False
    rows = [{"n": n, "text": f"t{n}", "image": np.full((4, 5), n, np.uint8)} for n in range(100)]
    ds = ps.from_ray(ray.data.from_items(rows).materialize())
    assert ds.element_spec["image"] == ps.TensorSpec((4, 5), np.uint8)
    assert ds.element_spec["text"] == ps.TensorSpec((), str)
    assert same([int(row["n"]) for row in ds], list(range(100)))
    [last] = ds.skip(99)
    assert last["text"] == "t99"
    assert np.array_equal(last["image"], rows[99]["image"])
    assert [batch.tolist() for batch in ds.map(lambda row: row["n"]).take(4).batch(2)] == [[0, 1], [2, 3]]


def refused(call: Callable[[], Any], *words: str) -> None:
    """Whether it is refused with these words, and with the line of this file."""
    try:
        call()
    except ps.errors.PenstockError as error:
        for word in (*words, "checks_ray.py"):
            assert word in str(error), (word, str(error))
    else:
        raise AssertionError("it was taken")


def given_what_cannot_be_then_it_is_refused_and_the_error_says_why() -> None:
    ds = ps.Dataset.range(4).map(lambda x: {"x": x})
    refused(lambda: ps.from_ray([1, 2]), "ray.data.Dataset", "list")
    refused(lambda: ds.distribute("dask", workers=2), "'ray'", "'dask'")
    refused(lambda: ds.distribute(workers=0), "at least 1")
    refused(lambda: ds.batch(2).distribute(workers=2), "expected a map right before it", "batch")
    refused(lambda: ds.write_tfrecord("nowhere", engine="ray"), "expected shards=")
    nested = ps.Dataset.range(2).flat_map(lambda _: ds.distribute(workers=1))
    refused(lambda: list(nested), "not in a dataset that a function returns")


def given_no_connection_then_the_error_says_how_to_make_one() -> None:
    connected = ray.is_initialized
    ray.is_initialized = lambda: False
    try:
        ds = ps.Dataset.range(4).map(lambda x: {"x": x})
        refused(lambda: next(iter(ds.distribute(workers=1))), "ray.init()")
        refused(lambda: ds.write_tfrecord("nowhere", shards=2, engine="ray"), "ray.init()")
    finally:
        ray.is_initialized = connected


def given_the_guide_then_its_code_runs() -> None:
    run_guide("cluster.md")


if __name__ == "__main__":
    NODES = Nodes()
    try:
        run_checks(globals(), FILE)
    finally:
        NODES.close()
