"""Worker processes in programs and places that do not make it easy for them."""

from __future__ import annotations

import functools
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.engine.processes import link, wire
from penstock.engine.processes import serving as serving_module
from penstock.engine.processes.lingering import Lingering
from penstock.engine.processes.serving import serving

pytestmark = pytest.mark.usefixtures("one_server")

PROGRAM = """
import os, signal, sys
{first}
import penstock as ps
def double(x):
    return int(x) * 2
ds = ps.Dataset.range(20).map(double, executor="processes", num_parallel_calls=2)
print([int(x) for x in ds] == list(range(0, 40, 2)), os.getpid())
"""


def ran(folder: Path, first: str = "") -> subprocess.CompletedProcess[str]:
    """A program of its own, that was started in a folder but does not lie there."""
    (folder / "elsewhere").mkdir()
    program = folder / "elsewhere" / "train.py"
    program.write_text(PROGRAM.format(first=first))
    return subprocess.run([sys.executable, program], cwd=folder, capture_output=True, text=True, timeout=60)


def in_workers(function: Any, rows: int = 8) -> ps.Dataset:
    return ps.Dataset.range(rows).map(function, executor="processes", num_parallel_calls=2)


@pytest.mark.parametrize("name", ["types", "functools", "contextlib", "operator"])
def test_given_files_in_the_folder_that_are_called_like_pythons_modules_then_nobody_loads_them(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / f"{name}.py").write_text("raise SystemExit('this is not to be run')")
    done = ran(tmp_path)
    assert (done.stdout.split()[:1], done.stderr) == (["True"], "")


def test_given_a_program_that_does_not_want_to_know_of_its_children_then_workers_end_without_a_word(
    tmp_path: Path,
) -> None:
    done = ran(tmp_path, "signal.signal(signal.SIGCHLD, signal.SIG_IGN)")
    assert (done.stdout.split()[:1], done.stderr) == (["True"], "")


def test_given_a_program_without_arguments_then_worker_processes_start(tmp_path: Path) -> None:
    done = ran(tmp_path, "del sys.argv")
    assert (done.stdout.split()[:1], done.stderr) == (["True"], "")


def test_given_a_frozen_program_then_it_is_not_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    with pytest.raises(ps.errors.PenstockError, match="need a Python that can be started"):
        serving_module.check_platform()


@pytest.mark.parametrize("name", ["memfd_create", "pidfd_open"])
def test_given_a_container_that_forbids_what_they_need_then_the_error_says_so(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def forbidden(*_: object) -> int:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, name, forbidden)
    with pytest.raises(
        ps.errors.PenstockError, match=r"memfd_create and pidfd_open .*Use executor='threads'"
    ):
        serving_module.check_platform()


def test_given_no_thread_to_be_had_then_nobody_lingers(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(_: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    lingering = Lingering(lambda: None)
    monkeypatch.setattr(threading.Thread, "start", refuses)
    assert not lingering.begin(1.0)
    assert lingering.thread is None


def test_given_descriptors_that_were_received_then_programs_started_here_do_not_have_them() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        wire.send(ours, "here", (ours.fileno(),))
        said, (descriptor,) = wire.receive(theirs)
        assert (said, os.get_inheritable(descriptor)) == ("here", False)
        os.close(descriptor)


def test_when_more_descriptors_are_allowed_than_before_then_workers_have_as_many() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    def allowed(x: Any) -> int:
        return resource.getrlimit(resource.RLIMIT_NOFILE)[0]

    seen = []
    try:
        for most in (soft - 100, soft):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            seen.append({int(x) for x in in_workers(allowed)})
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert seen == [{soft - 100}, {soft}]


def test_given_functions_with_a_cache_then_workers_have_one_of_their_own() -> None:
    calls: list[int] = []

    @functools.lru_cache(maxsize=4)
    def squared(x: int) -> int:
        calls.append(x)
        return x * x

    assert [int(x) for x in in_workers(lambda x: squared(int(x)))] == [x * x for x in range(8)]
    assert not calls
    assert [int(x) for x in ps.Dataset.range(3).map(squared, executor="processes")] == [0, 1, 4]


class RefusedError(Exception):
    """Has kept less than it was made of."""

    def __init__(self, code: int, url: str) -> None:
        super().__init__(f"{code} from {url}")
        self.code = code


class MuteError(Exception):
    def __str__(self) -> str:
        raise IndexError("no text")


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_given_an_error_that_asks_for_more_than_it_has_kept_then_it_is_the_cause_itself(
    executor: str,
) -> None:
    def asks(x: Any) -> Any:
        if x == 3:
            raise RefusedError(404, "there")
        return x

    it = iter(ps.Dataset.range(5).map(asks, executor=executor, num_parallel_calls=2))
    assert [int(next(it)) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ps.errors.FunctionError, match="RefusedError: 404 from there") as raised:
        next(it)
    cause = raised.value.__cause__
    assert isinstance(cause, RefusedError)
    assert (cause.code, cause.args) == (404, ("404 from there",))
    assert int(next(it)) == 4


@pytest.mark.parametrize("executor", ["auto", "threads", "processes"])
def test_given_an_error_that_cannot_say_what_it_is_then_it_costs_its_element_alone(executor: str) -> None:
    def fails(x: Any) -> Any:
        if x == 7:
            raise MuteError
        return x

    ds = ps.Dataset.range(12).map(fails, executor=executor, num_parallel_calls=2)
    it = iter(ds)
    assert [int(next(it)) for _ in range(7)] == list(range(7))
    with pytest.raises(
        ps.errors.FunctionError, match=r"element 7: MuteError: \(its text cannot be made: IndexError\)"
    ):
        next(it)
    assert [int(x) for x in ds.ignore_errors()] == [*range(7), *range(8, 12)]


def test_given_a_stdout_that_is_full_when_workers_have_something_to_print_then_their_elements_come() -> None:
    program = """
import os, sys
os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
import penstock as ps
def shows(x):
    sys.stdout.write("a part of a line")
    return x
found = [int(x) for x in ps.Dataset.range(4).map(shows, executor="processes", num_parallel_calls=1)]
print(found, file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stderr == "[0, 1, 2, 3]\n"


def test_given_numpys_errors_that_are_called_then_workers_warn() -> None:
    with np.errstate(divide="call", call=lambda *_: None), pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONWARNINGS", "ignore")
        assert [float(x) for x in in_workers(lambda x: np.float64(1) / (x + 1), 2)] == [1.0, 0.5]


def crash(x: Any) -> Any:
    os._exit(3)


def test_given_a_function_that_only_ends_its_process_then_it_may_be_declared_and_each_element_fails() -> None:
    ds = ps.Dataset.range(2).map(crash, executor="processes", num_parallel_calls=1)
    with pytest.raises(ps.errors.WorkerError, match="ended by itself, with status 3"):
        next(iter(ds))
    assert list(ds.ignore_errors()) == []


def test_given_a_server_that_does_not_answer_when_a_run_is_closed_then_workers_end_and_nobody_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(link, "REAPED", 600.0)
    it = in_workers(lambda x: int(x) + os.getpid() * 0, 1 << 20).iterate()
    assert int(next(it)) == 0
    next(it)
    server = serving.server()
    workers = [each.pid for each in serving.links]
    os.kill(server._process.pid, signal.SIGSTOP)
    try:
        closing = threading.Thread(target=it.close, daemon=True)
        closing.start()
        closing.join(60)
        assert not closing.is_alive()
        assert workers
        for pid in workers:
            assert Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    finally:
        os.kill(server._process.pid, signal.SIGCONT)
