"""Maps whose function is called in worker processes."""

from __future__ import annotations

import math
import os
import socket
import subprocess
import sys
import threading
import time
from collections import namedtuple
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract, drain, same
from engine.leftovers import children, descriptors, gone
from penstock.engine import roster

pytestmark = pytest.mark.usefixtures("one_server")


def in_workers(ds: ps.Dataset, function: Callable[..., Any], calls: int = 2) -> ps.Dataset:
    return ds.map(function, num_parallel_calls=calls, executor="processes")


class Pair(NamedTuple):
    left: Any
    right: Any


class Fruit:
    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fruit) and other.name == self.name

    __hash__ = None  # type: ignore[assignment]


def where(x: Any) -> Any:
    return np.array([int(x), os.getpid()])


def plain(x: Any) -> Any:
    return int(x) + 1


def noisy(x: Any) -> Any:
    return x + ps.random.uniform(), ps.random.normal(shape=(3,))


def lengths(x: Any) -> Any:
    return {"a": np.arange(int(x)), "b": b"x" * int(x), "c": f"{int(x)}é", "d": [b"1", b"22"]}


def fails_at_seven(x: Any) -> Any:
    if int(x) % 10 == 7:
        raise ValueError(f"no {x}")
    return x


class TestMapInProcesses(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        numbers = ps.Dataset.range(60)
        return {
            "numbers": lambda: in_workers(numbers, plain),
            "random": lambda: in_workers(numbers, noisy).batch(7),
            "many lengths": lambda: in_workers(numbers, lengths, 3).prefetch(2),
        }


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "number": plain,
    "random": noisy,
    "lengths": lengths,
    "named tuple": lambda x: Pair(x, np.float32(x) / 2),
    "nothing": lambda x: None,
    "object": lambda x: Fruit(str(x)),
    "nested": lambda x: ({"k": x, "l": (x, b"s")}, "text"),
    "empty": lambda x: np.zeros((0, 3), np.float32),
    "passes on": lambda x: x,
    "shapes": lambda x: np.full((int(x) % 3, 2), x),
    "dates": lambda x: np.datetime64("2026-01-01") + np.timedelta64(int(x), "D"),
}


@pytest.mark.filterwarnings("ignore:.*returned None")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_then_the_stream_is_that_of_plain_calls(name: str) -> None:
    ds = ps.Dataset.range(40)
    expected = drain(ds.map(FUNCTIONS[name]))
    for rows in (1, 7, 64):
        options = ps.Options(block_rows=rows)
        got = drain(in_workers(ds, FUNCTIONS[name]).with_options(options))
        assert same(expected, got), f"blocks of {rows} rows"


@pytest.mark.parametrize("executor", ["auto", "threads", "processes"])
def test_whichever_the_executor_then_the_numbers_drawn_are_the_same(executor: str) -> None:
    ds = ps.Dataset.range(50)
    expected = drain(ds.map(noisy), seed=3, epoch=2)
    got = drain(ds.map(noisy, num_parallel_calls=3, executor=executor), seed=3, epoch=2)
    assert same(expected, got)


def test_then_calls_are_made_in_as_many_other_processes_as_asked_for() -> None:
    with in_workers(ps.Dataset.range(400), where, 3).with_options(ps.Options(block_rows=4)).iterate() as it:
        got = [(int(x), int(pid)) for x, pid in it]
    assert [x for x, _ in got] == list(range(400))
    processes = {pid for _, pid in got}
    assert len(processes) <= 3 and os.getpid() not in processes


@pytest.mark.usefixtures("no_server")
def test_when_the_run_ends_then_no_process_thread_or_descriptor_is_left() -> None:
    before, threads, files = children(), set(threading.enumerate()), descriptors()
    for stop in (0, 1, 30, 10_000):
        it = in_workers(ps.Dataset.range(500), plain, 3).with_options(ps.Options(block_rows=4)).iterate()
        for _ in zip(range(stop), it, strict=False):
            pass
        it.close()
        it._run.ledger.settle()
        assert it._run.ledger.held == 0
        assert children() == before
        assert set(threading.enumerate()) <= threads
        assert descriptors() <= files


def test_given_elements_of_a_class_of_this_module_then_they_arrive_as_such() -> None:
    ds = in_workers(ps.Dataset.range(5).map(lambda x: Fruit(f"pear {x}")), lambda f: Fruit(f.name.upper()))
    assert list(ds) == [Fruit(f"PEAR {i}") for i in range(5)]


def test_given_a_class_made_on_the_spot_then_results_are_of_that_class() -> None:
    point = namedtuple("point", "x y")
    got = list(in_workers(ps.Dataset.range(3), lambda x: point(x, x + 1)))
    assert all(type(element) is point for element in got)
    got = list(in_workers(in_workers(ps.Dataset.range(3), lambda x: point(x, x + 1)), lambda p: p))
    assert all(type(element) is point for element in got)


def test_given_a_large_array_in_the_function_then_all_workers_share_one_copy() -> None:
    table = np.arange(4 << 20, dtype=np.uint8)

    def private(x: Any) -> Any:
        total = int(table[:: 1 << 12].sum())  # every page has been looked at
        said = Path("/proc/self/smaps_rollup").read_text()
        sizes = {line.split(":")[0]: line.split()[1] for line in said.splitlines()[1:]}
        return np.array([int(x), total, os.getpid(), int(sizes["Private_Dirty"])])

    with in_workers(ps.Dataset.range(40), private, 2).with_options(ps.Options(block_rows=2)).iterate() as it:
        got = np.stack(list(it))
        assert it._run.ledger.account("map").peak >= table.nbytes
    assert (got[:, 1] == int(table[:: 1 << 12].sum())).all()
    assert got[:, 3].max() < (table.nbytes >> 10) + 12_000  # one copy would be there besides what Python has
    assert table[0] == 0


def test_when_a_row_fails_then_the_error_is_as_it_is_here() -> None:
    for executor in ("threads", "processes"):
        it = iter(ps.Dataset.range(30).map(fails_at_seven, num_parallel_calls=2, executor=executor))
        got: list[Any] = []
        while True:
            try:
                got.append(int(next(it)))
            except ps.errors.FunctionError as error:
                got.append((error.op, error.number, str(error.__cause__), type(error.__cause__)))
                assert "test_processes.py" in str(error) and "no " in str(error)
                assert any("Traceback" in note for note in error.__notes__)
            except StopIteration:
                break
        failed = [("map", n, f"no {n}", ValueError) for n in (7, 17, 27)]
        assert got == [failed[i // 10] if i % 10 == 7 else i for i in range(30)]


def test_when_the_function_ends_python_then_that_is_an_error_of_its_element() -> None:
    def leaves(x: Any) -> Any:
        raise SystemExit(4)

    with pytest.raises(ps.errors.FunctionError, match="element 0: SystemExit: 4") as caught:
        list(in_workers(ps.Dataset.range(3), leaves))
    assert isinstance(caught.value.__cause__, SystemExit) and caught.value.__cause__.code == 4


def test_given_results_that_cannot_be_pickled_then_calls_are_made_here() -> None:
    with in_workers(ps.Dataset.range(5), lambda x: threading.Lock()).iterate() as it:
        assert [type(lock) for lock in it] == [type(threading.Lock())] * 5
        assert "cannot be pickled" in str(it.report())


def test_given_a_function_that_cannot_be_pickled_then_the_error_says_what_to_do() -> None:
    lock = threading.Lock()

    def locked(x: Any) -> Any:
        with lock:
            return int(x)

    with pytest.raises(
        ps.errors.PenstockError, match=r"test_processes\.py.*cannot pickle.*executor='threads'"
    ):
        list(in_workers(ps.Dataset.range(5), locked))


def test_given_a_function_that_keeps_its_elements_then_they_do_not_change_under_it() -> None:
    kept: list[Any] = []

    def keeps(x: Any) -> Any:
        kept.append(x)
        return np.array([old[0] for old in kept[-50:]])

    rows = np.arange(120).repeat(8).reshape(120, 8)
    ds = in_workers(ps.Dataset.from_tensor_slices(rows), keeps, 1).with_options(ps.Options(block_rows=5))
    for i, seen in enumerate(ds):
        assert seen.tolist() == list(range(max(0, i - 49), i + 1))


def test_given_a_read_only_element_then_it_is_read_only_there_too() -> None:
    def writes(x: Any) -> Any:
        x[0] = 1
        return x

    ds = ps.Dataset.from_tensor_slices(np.zeros((3, 2)))
    for executor in ("threads", "processes"):
        with pytest.raises(ps.errors.FunctionError, match="read-only"):
            list(ds.map(writes, executor=executor))


def test_given_results_larger_than_the_slab_then_it_grows_and_is_counted() -> None:
    sizes = [1, 1 << 10, 1 << 20, 3 << 20, 1]
    ds = in_workers(ps.Dataset.from_tensor_slices(sizes), lambda n: np.full(int(n), n, np.int32), 1)
    with ds.iterate(memory="64MiB") as it:
        got = list(it)
        assert it._run.ledger.account("map").peak >= 2 * (3 << 22)
    assert [len(array) for array in got] == sizes
    assert all((array == len(array)).all() for array in got)


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_given_a_small_budget_then_it_holds(executor: str) -> None:
    rows = np.zeros((60, 100_000), np.uint8)
    ds = ps.Dataset.from_tensor_slices(rows).map(lambda x: x + int(x[0]), executor=executor)
    with ds.iterate(memory="2MiB") as it:
        assert sum(1 for _ in it) == 60
        assert it._run.ledger.peak <= 2 << 20


def test_given_another_structure_in_a_later_block_then_that_is_an_error_of_that_element() -> None:
    ds = in_workers(ps.Dataset.range(40), lambda x: (x, x) if int(x) == 30 else x, 3)
    it = iter(ds.with_options(ps.Options(block_rows=3)))
    assert [int(next(it)) for _ in range(30)] == list(range(30))
    with pytest.raises(ps.errors.DataError, match=r"element 30 .*earlier results"):
        next(it)
    assert [int(x) for x in it] == list(range(31, 40))


def test_then_numpys_error_state_is_that_of_who_iterates() -> None:
    ds = in_workers(ps.Dataset.range(3), lambda x: np.float64(1) / np.float64(int(x) * 0))
    with np.errstate(divide="raise"), pytest.raises(ps.errors.FunctionError, match="FloatingPointError"):
        list(ds)


SCRIPT = """
import penstock as ps
offset = 5
def add(x):
    return int(x) + offset
print([int(x) for x in ps.Dataset.range(4).map(add, executor="processes").map(lambda x: x)])
print([int(x) for x in ps.Dataset.range(4).map(lambda x: int(x) * offset, executor="processes")])
"""


def test_given_a_script_without_a_main_guard_then_it_runs_once(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60)
    assert ran.stdout == "[5, 6, 7, 8]\n[0, 5, 10, 15]\n"
    assert ran.stderr == ""


FORKS = """
import os, signal, penstock as ps
def add(x):
    return int(x) + 1
ds = ps.Dataset.range(400).map(add, num_parallel_calls=2, executor="processes")
it = iter(ds.with_options(ps.Options(block_rows=4)))
first = [int(next(it)) for _ in range(10)]
pid = os.fork()
if pid == 0:
    signal.alarm(30)
    inside = [int(x) for x in ds]
    try:
        while True:
            next(it)
    except StopIteration:
        os._exit(2)
    except ps.errors.PenstockError as error:
        ok = "forked" in str(error)
    it.close()
    del it
    os._exit(0 if ok and inside == list(range(1, 401)) else 3)
_, status = os.waitpid(pid, 0)
print(os.waitstatus_to_exitcode(status))
print(first + [int(x) for x in it] == list(range(1, 401)))
"""


def test_when_the_user_forks_then_both_processes_go_on(tmp_path: Path) -> None:
    script = tmp_path / "forks.py"
    script.write_text(FORKS)
    # Python 3.12 and later warn of every fork of a process that has threads.
    command = [sys.executable, "-W", "ignore:This process:DeprecationWarning", str(script)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (ran.stdout, ran.stderr) == ("0\nTrue\n", "")


@pytest.mark.usefixtures("no_server")
def test_when_the_run_is_dropped_then_its_workers_go() -> None:
    it = in_workers(ps.Dataset.range(1000), plain).iterate()
    next(it)
    workers = children()
    assert workers
    del it
    assert gone(workers)


def slow(x: Any) -> Any:
    time.sleep(0.001)
    return int(x)


def test_then_the_first_rows_and_the_last_are_shared_out_evenly(
    sizes: dict[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(roster, "usable_cores", lambda: 2)
    rows, asked = 300, 64
    ds = ps.Dataset.range(rows).map(slow, num_parallel_calls=ps.AUTOTUNE, executor="processes")
    assert [int(x) for batch in ds.batch(asked) for x in batch] == list(range(rows))
    assert sum(sizes.values()) == rows
    assert sizes.pop(0) == 1  # its result says how all others are to look
    of_first = [size for place, size in sizes.items() if place < asked]
    assert sum(of_first) == asked - 1 and max(of_first) <= math.ceil((asked - 1) / 2)
    assert sizes[max(sizes)] <= asked / 2 and len(sizes) <= 12


def longer(x: Any) -> Any:
    time.sleep(0.5)
    return x


def test_given_a_default_timeout_of_sockets_then_workers_may_take_longer() -> None:
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(0.2)
    try:
        ds = ps.Dataset.range(2).map(longer, num_parallel_calls=2, executor="processes")
        with ds.iterate() as it:
            assert [int(x) for x in it] == [0, 1]
            assert "lost" not in str(it.report())
    finally:
        socket.setdefaulttimeout(before)


def says(x: Any) -> Any:
    print("element", int(x), "is here")
    return x


def test_given_prints_then_lines_of_several_workers_come_whole() -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r})\n"
        "import penstock as ps\nfrom engine.test_processes import says\n"
        "list(ps.Dataset.range(200).map(says, num_parallel_calls=2, executor='processes'))"
    )
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    assert sorted(done.stdout.splitlines()) == sorted(f"element {x} is here" for x in range(200))
