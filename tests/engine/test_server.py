"""The server of worker processes: how long it stays, what it has ready, and what it shows to functions."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import penstock as ps
from engine.leftovers import children, gone
from penstock.engine.executor import Executor
from penstock.engine.processes import serving as serving_module
from penstock.engine.processes.server_link import Server
from penstock.engine.processes.serving import serving
from penstock.engine.processes.wire import Hangup

pytestmark = pytest.mark.usefixtures("one_server")


def in_workers(ds: ps.Dataset, function: Callable[..., Any], calls: int = 2) -> ps.Dataset:
    return ds.map(function, num_parallel_calls=calls, executor="processes")


def where(x: Any) -> Any:
    return np.array([int(x), os.getpid()])


def plain(x: Any) -> Any:
    return int(x) + 1


@pytest.mark.usefixtures("no_server")
@pytest.mark.parametrize("others", [0, 1])
def test_when_all_rows_are_taken_then_workers_of_the_next_epoch_get_ready_unless_another_run_needs_the_core(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, others: int
) -> None:
    monkeypatch.setattr(serving_module, "LINGER", 30.0)
    go_on = tmp_path / "go_on"

    def waits_at_the_end(x: Any) -> int:
        while x == 39 and not go_on.exists():
            time.sleep(0.01)
        return os.getpid()

    asked: list[int] = []
    have_ready = Server.have_ready

    def notes(server: Server, workers: int) -> None:
        asked.append(workers)
        have_ready(server, workers)

    monkeypatch.setattr(Server, "have_ready", notes)
    ds = in_workers(ps.Dataset.range(40), waits_at_the_end).with_options(ps.Options(block_rows=4))
    try:
        for _ in range(others):
            serving.use()
        with ds.iterate() as it:
            used = {int(next(it)) for _ in range(36)}
            server = serving._server
            assert server is not None
            until = time.monotonic() + 30
            while sum(thread.name.startswith("penstock-map") for thread in threading.enumerate()) > 1:
                assert time.monotonic() < until
                time.sleep(0.01)
            assert len(asked) == (0 if others else 1)
            while not others and len(children(server._process.pid)) < 2 + serving_module.SPARES:
                assert time.monotonic() < until
                time.sleep(0.01)
            ready = children(server._process.pid) - used
            go_on.touch()
            used.update(int(pid) for pid in it)
        if not others:
            assert set(map(int, ds)) <= ready - used
    finally:
        for _ in range(others):
            serving.leave()
        end_the_server()


@pytest.mark.parametrize(("left", "told"), [(0, 1), (1, 1), (2, 0), (19, 0)])
def test_when_as_many_blocks_are_left_as_there_are_cores_then_nobody_gets_ready(left: int, told: int) -> None:
    calls: list[int] = []
    one: Any = SimpleNamespace(_cores=2, _workers=SimpleNamespace(nearly_over=lambda: calls.append(left)))
    Executor.nearly_over(one, left)
    assert len(calls) == told


@pytest.mark.usefixtures("no_server")
def test_given_a_server_that_lingers_then_the_next_run_uses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving_module, "LINGER", 30.0)
    ds = in_workers(ps.Dataset.range(10), plain)
    assert len(list(ds)) == 10
    server = serving._server
    assert server is not None
    assert len(list(ds)) == 10
    assert serving._server is server
    end_the_server()


def end_the_server() -> None:
    serving.at_exit()
    lingering = serving._lingering
    thread = lingering.thread
    assert thread is not None
    lingering.stop()
    with lingering._lock:
        lingering._changed.notify()  # it would find out in its own time
    thread.join()


@pytest.mark.usefixtures("no_server")
def test_given_a_server_that_lingers_then_the_next_run_finds_workers_ready_and_all_go_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(serving_module, "LINGER", 30.0)
    before = children()
    ds = in_workers(ps.Dataset.range(40), where).with_options(ps.Options(block_rows=4))
    used = {int(pid) for _, pid in ds}
    server = serving._server
    assert server is not None
    until = time.monotonic() + 30
    while len(ready := children(server._process.pid) - used) < serving_module.SPARES:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert len(ready) == serving_module.SPARES
    again = {int(pid) for _, pid in ds}
    assert again <= ready
    left = children() - before
    end_the_server()
    assert gone(left) and children() == before


@pytest.mark.usefixtures("no_server")
def test_given_a_server_that_has_not_answered_yet_then_nobody_counts_on_it() -> None:
    server = serving.server()
    try:
        os.kill(server._process.pid, signal.SIGSTOP)
        with pytest.raises(Hangup):
            server.load(["json"], lambda: True)
        assert not serving.has(["json"])
        os.kill(server._process.pid, signal.SIGCONT)
        server.load(["csv"], lambda: False)
        assert serving.has(["json", "csv"]) and not serving.has(["this"])
    finally:
        serving.at_exit()


REAPS = """
import ctypes, os, threading, time
from pathlib import Path
import penstock as ps
from penstock.engine.processes import serving
ctypes.CDLL(None).prctl(36, 1)  # whom nobody reaps falls to this process, as to the first one of a container
serving.LINGER = 0.2
list(ps.Dataset.range(9).map(lambda x: x, num_parallel_calls=2, executor="processes"))
while any(thread.name == "penstock-server" for thread in threading.enumerate()):
    time.sleep(0.01)
print(Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split())
"""


def test_when_the_server_ends_then_it_leaves_nobody_to_be_reaped() -> None:
    done = subprocess.run([sys.executable, "-c", REAPS], capture_output=True, text=True, timeout=300)
    assert done.stdout == "[]\n", done.stderr


def variables(_: Any) -> str:
    return "\n".join(sorted(os.environ))


@pytest.mark.usefixtures("no_server")
def test_then_functions_see_no_other_variables_than_here() -> None:
    ds = ps.Dataset.range(1).map(variables, executor="processes")
    assert set(str(next(iter(ds))).split("\n")) <= set(os.environ)


def test_given_a_variable_that_is_gone_then_workers_of_a_server_that_had_it_do_not_see_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ds = ps.Dataset.range(1).map(variables, executor="processes")
    serving.lost(serving.server())  # the next one has it
    monkeypatch.setenv("PENSTOCK_TEST", "1")
    server = serving.server()
    seen = [str(next(iter(ds))).split("\n")]
    monkeypatch.delenv("PENSTOCK_TEST")
    seen.append(str(next(iter(ds))).split("\n"))
    assert serving.server() is server
    assert ["PENSTOCK_TEST" in names for names in seen] == [True, False]


MANY_FILES = """
import os, resource
limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
files = [os.dup(0) for _ in range(1100)]
import penstock as ps
print([int(x) for x in ps.Dataset.range(5).map(lambda x: x + 1, executor="processes")])
"""


def test_given_more_files_than_select_knows_then_workers_are_there_all_the_same() -> None:
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[1] > 1200
    done = subprocess.run([sys.executable, "-c", MANY_FILES], capture_output=True, text=True, timeout=300)
    assert done.stdout == "[1, 2, 3, 4, 5]\n", done.stderr


@pytest.mark.usefixtures("no_server")
def test_given_another_ctrl_c_at_the_end_of_the_process_then_it_goes_on_to_the_end() -> None:
    ended: list[str] = []

    class Interrupted:
        def end(self) -> None:
            ended.append("asked")
            raise KeyboardInterrupt

    one: Any = serving_module.Serving()
    one._server, one._threaded = Interrupted(), [Interrupted()]
    one.at_exit()
    assert ended == ["asked", "asked"]


def test_given_a_program_on_the_command_line_then_its_traceback_does_not_quote_the_server() -> None:
    """Python 3.13 and later quote what `python -c` was given, and the server is begun by that as well."""
    code = (
        "import penstock as ps\n"
        "def bad(x):\n"
        "    y = int(x)\n"
        "    raise KeyError(y)\n"
        "list(ps.Dataset.range(3).map(bad, num_parallel_calls=2, executor='processes'))\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    _, _, quoted = ran.stderr.rpartition("line 4, in bad\n")
    assert quoted.lstrip().startswith("KeyError: 0") or quoted.lstrip().startswith("raise KeyError(y)")
