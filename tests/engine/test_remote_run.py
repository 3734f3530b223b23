"""Runs over files of a web server: through its faults, within the budget, and ended while it hangs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from time import monotonic, sleep
from typing import Any

import pytest

import penstock as ps
from penstock.sources import TextLineDataset
from servers.web import WebServer, cut_after, hang_after, status

LINES = [f"{k}:{'x' * (k % 97)}" for k in range(60_000)]
TEXT = "\n".join(LINES).encode()


@pytest.fixture
def server() -> Iterator[WebServer]:
    server = WebServer()
    yield server
    server.stop()


def wait_for(what: Callable[[], bool]) -> None:
    """A store's loop lets go of a buffer a moment after the read was ended."""
    deadline = monotonic() + 20
    while not what():
        assert monotonic() < deadline
        sleep(0.002)


def is_given_back(it: Any) -> bool:
    it._run.ledger.settle()
    return bool(it._run.ledger.held == 0)


Threads = Callable[[], list[str]]


@pytest.fixture
def threads() -> Threads:
    """Names those that were started since: one of a test before may still wait for the next run."""
    before = set(threading.enumerate())
    return lambda: [each.name for each in set(threading.enumerate()) - before if "penstock" in each.name]


def test_given_faults_then_every_element_comes_and_the_next_ranges_are_fetched_ahead(
    server: WebServer, threads: Threads
) -> None:
    server.faults += [None, cut_after(100), status(503, Retry_After="0"), None, cut_after(0), None]
    with TextLineDataset(server.put("a.txt", TEXT)).iterate(memory="64MiB") as it:
        assert [line.decode() for line in it] == LINES
        assert it._run.ledger.peak <= 64 << 20
    assert max(end - start for start, end in server.asked) == 1 << 20
    assert threads() == []
    assert is_given_back(it)


def test_given_a_small_budget_then_it_holds(server: WebServer) -> None:
    with TextLineDataset(server.put("a.txt", TEXT)).iterate(memory="2MiB") as it:
        assert sum(1 for _ in it) == len(LINES)
        assert it._run.ledger.peak <= 2 << 20


def test_given_many_files_then_the_run_keeps_nothing_of_those_it_has_read(server: WebServer) -> None:
    address = server.put("a.txt", b"one\ntwo")
    with TextLineDataset([address] * 40).iterate() as it:
        assert sum(1 for _ in it) == 80
        assert it._run.cancel._parts == []


@pytest.mark.parametrize("how", ["prefetch", "plain", "several"])
@pytest.mark.parametrize("after", [0, 1, 3])
def test_given_a_server_that_hangs_when_the_run_is_closed_then_it_ends_within_a_second_or_so(
    server: WebServer, threads: Threads, how: str, after: int
) -> None:
    server.faults += [None] * after
    server.always = hang_after(-1 if after % 2 == 0 else 100)
    address = server.put("a.txt", TEXT)
    ds = TextLineDataset([address] * 3, num_parallel_reads=3 if how == "several" else None)
    it = (ds.prefetch(2) if how == "prefetch" else ds).iterate(memory="64MiB")
    raised: list[type[BaseException]] = []

    def consume() -> None:
        try:
            for _ in it:
                pass
        except BaseException as error:
            raised.append(type(error))

    consumer = threading.Thread(target=consume)
    consumer.start()
    assert server.hanging.acquire(timeout=20)
    it.close()
    consumer.join(20)
    assert not consumer.is_alive()  # the server itself would be waited for much longer
    assert raised == [ps.errors.ClosedError]
    assert threads() == []
    wait_for(lambda: is_given_back(it))


def test_given_a_file_that_is_gone_then_the_error_names_it(server: WebServer) -> None:
    with pytest.raises(
        ps.errors.StoreError, match=r"missing\.txt: expected a file, but there is no such file"
    ):
        list(TextLineDataset(server.address("missing.txt")))
