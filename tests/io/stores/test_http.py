"""Files on web servers, with real servers that fail."""

from __future__ import annotations

import errno
import threading
from collections.abc import Iterator

import aiohttp
import numpy as np
import pytest

import penstock as ps
from penstock.io.stores.opening import open_stored
from penstock.io.stores.remote import RemoteFile
from penstock.io.stores.retry import Patience
from servers.web import (
    Answer,
    WebServer,
    cut_after,
    cut_at_once,
    give_whole,
    hang_after,
    say_fewer,
    say_more,
    status,
    trickle,
    wrong_range,
)

DATA = np.random.default_rng(1).bytes(3_000_000)
QUICK = Patience(tries=3, first=0.001, longest=0.002, longest_asked=0.001, stall=30.0)


@pytest.fixture
def server() -> Iterator[WebServer]:
    server = WebServer()
    yield server
    server.stop()


def opened(server: WebServer, patience: Patience = QUICK) -> RemoteFile:
    stored = RemoteFile(server.put("a.bin", DATA), patience=patience)
    server.asked.clear()
    return stored


def read(stored: RemoteFile, start: int, size: int) -> bytes:
    out = bytearray(size)
    count = stored.read_into(start, memoryview(out))
    return bytes(out[:count])


def test_when_a_file_is_opened_then_its_size_and_stamp_are_known_and_one_byte_was_asked_for(
    server: WebServer,
) -> None:
    with open_stored(server.put("a.bin", DATA)) as stored:
        assert stored.size == len(DATA)
        assert stored.slow
        before = stored.stamp
    assert server.asked == [(0, 1)]
    server.tag = '"2"'
    with open_stored(server.address("a.bin")) as stored:
        assert stored.stamp != before


@pytest.mark.parametrize("start,size", [(0, 10), (0, 3_000_000), (17, 1_500_000), (2_999_990, 10)])
def test_when_a_range_is_read_then_only_that_range_is_asked_for(
    server: WebServer, start: int, size: int
) -> None:
    with opened(server) as stored:
        assert stored.read(start, size) == DATA[start : start + size]
    assert server.asked == [(start, start + size)]


def test_when_more_is_read_than_there_is_then_it_ends_with_the_file(server: WebServer) -> None:
    with opened(server) as stored:
        assert read(stored, 2_999_999, 100) == DATA[-1:]
        assert read(stored, 3_000_000, 100) == b""
        assert read(stored, 4_000_000, 100) == b""


@pytest.mark.parametrize("whole", [False, True])
def test_given_an_empty_file_then_it_has_no_bytes(server: WebServer, whole: bool) -> None:
    server.faults.append(give_whole if whole else None)
    with open_stored(server.put("empty", b"")) as stored:
        assert (stored.size, stored.read(0, 10)) == (0, b"")


FAULTS: dict[str, Answer] = {
    "cut before the answer": cut_at_once,
    "cut before the body": cut_after(0),
    "cut in the body": cut_after(70_000),
    "503": status(503, Retry_After="0"),
    "503 without a time": status(503),
    "429": status(429, Retry_After="Wed, 21 Oct 2015 07:28:00 GMT"),
    "500": status(500),
    "502": status(502),
    "504": status(504),
    "a length that is too small": say_fewer(1000),
    "a length that is too large": say_more,
    "slow": trickle,
}


@pytest.mark.parametrize("name", FAULTS)
def test_given_a_fault_that_passes_then_the_bytes_are_right(server: WebServer, name: str) -> None:
    with opened(server) as stored:
        server.faults += [FAULTS[name], FAULTS[name], None]
        assert stored.read(1000, 500_000) == DATA[1000:501_000]


@pytest.mark.parametrize("name", FAULTS)
def test_given_a_fault_that_passes_when_a_file_is_opened_then_it_opens(server: WebServer, name: str) -> None:
    server.faults += [FAULTS[name]]
    with RemoteFile(server.put("a.bin", DATA), patience=QUICK) as stored:
        assert stored.size == len(DATA)


def test_given_a_connection_that_is_cut_again_and_again_then_each_try_goes_on_where_the_last_one_ended(
    server: WebServer,
) -> None:
    with opened(server) as stored:
        server.always = cut_after(100_000)
        assert stored.read(5, 950_000) == DATA[5:950_005]
    assert len(server.asked) > QUICK.tries
    starts = [start for start, _ in server.asked]
    assert starts == sorted(set(starts))


def test_given_a_server_that_asks_for_time_then_the_next_try_waits_for_it(
    server: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []

    def pause(seconds: float) -> bool:
        waited.append(seconds)
        return False

    with opened(server, Patience()) as stored:
        assert isinstance(stored, RemoteFile)
        monkeypatch.setattr(stored._calls, "pause", pause)
        server.faults += [status(503, Retry_After="7"), status(429, Retry_After="3000")]
        assert stored.read(0, 10) == DATA[:10]
    assert waited == [7.0, Patience().longest_asked]


def test_given_a_fault_that_does_not_pass_then_the_error_says_what_where_and_how_often(
    server: WebServer,
) -> None:
    with opened(server) as stored:
        server.always = status(503)
        with pytest.raises(ps.errors.StoreError) as caught:
            stored.read(1000, 500)
    error = caught.value
    assert (error.file, error.offset) == (server.address("a.bin"), 1000)
    for part in (server.address("a.bin"), "byte 1000", "500 bytes", "503", "3 times"):
        assert part in str(error)
    assert len(server.asked) == 3


@pytest.mark.parametrize("code,number", [(404, errno.ENOENT), (403, errno.EACCES), (401, errno.EACCES)])
def test_given_no_such_file_or_no_access_then_it_is_tried_once(
    server: WebServer, code: int, number: int
) -> None:
    server.always = status(code)
    with pytest.raises(ps.errors.StoreError) as caught:
        open_stored(server.put("a.bin", DATA))
    assert caught.value.errno == number
    assert caught.value.file == server.address("a.bin")
    assert server.asked == [(0, 1)]


def test_given_nobody_who_listens_then_the_error_says_so() -> None:
    server = WebServer()
    address = server.address("a.bin")
    server.stop()
    with pytest.raises(ps.errors.StoreError, match=r"a\.bin: expected a file, but .*connect.*3 times"):
        RemoteFile(address, patience=QUICK)


@pytest.mark.parametrize("answer", [give_whole, wrong_range])
@pytest.mark.parametrize("later", [False, True])
def test_given_a_server_without_ranges_then_the_error_says_so_and_nothing_is_tried_again(
    server: WebServer, answer: Answer, later: bool
) -> None:
    with pytest.raises(ps.errors.StoreError, match="range"):
        if later:
            with opened(server) as stored:
                server.always = answer
                stored.read(10, 100)
        else:
            server.always = answer
            open_stored(server.put("a.bin", DATA))
    assert len(server.asked) == 1


@pytest.mark.parametrize("longer", [False, True])
def test_given_a_file_that_changes_while_it_is_read_then_the_error_says_so(
    server: WebServer, longer: bool
) -> None:
    with opened(server) as stored:
        stored.read(0, 10)
        if longer:
            server.files["a.bin"] = DATA + b"x"
        else:
            server.tag = '"2"'
        with pytest.raises(ps.errors.StoreError, match="changed"):
            stored.read(10, 10)


@pytest.mark.parametrize("size", [-1, 0])
def test_given_a_server_that_stops_answering_then_the_read_fails_in_the_end(
    server: WebServer, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(server) as stored:
        monkeypatch.setattr(stored._ranges, "_timeout", aiohttp.ClientTimeout(None, sock_read=0.05))
        server.always = hang_after(size)
        with pytest.raises(ps.errors.StoreError, match=r"no answer came in time.*3 times") as caught:
            stored.read(0, 1000)
    assert caught.value.errno == errno.ETIMEDOUT


def test_given_a_server_that_hangs_for_once_in_the_body_then_the_bytes_are_right(server: WebServer) -> None:
    with opened(server, Patience(stall=1.0)) as stored:
        server.faults += [hang_after(500)]
        assert stored.read(0, 1000) == DATA[:1000]
    assert server.asked[:2] == [(0, 1000), (500, 1000)]


class Reading(threading.Thread):
    """Does something that waits, in a thread, and keeps what it raised."""

    def __init__(self, server: WebServer, stored: RemoteFile | None) -> None:
        super().__init__(daemon=True)
        self._server, self._stored = server, stored
        self.raised: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            if self._stored is not None:
                self._stored.read(0, 1000)
        except BaseException as error:
            self.raised = error


@pytest.mark.parametrize("size", [-1, 0, 10])
@pytest.mark.parametrize("how", ["interrupt", "close"])
def test_given_a_server_that_hangs_when_the_file_is_closed_then_the_reader_learns_it_at_once(
    server: WebServer, size: int, how: str
) -> None:
    stored = opened(server)
    server.always = hang_after(size)
    readers = [Reading(server, stored) for _ in range(3)]
    for _ in readers:
        assert server.hanging.acquire(timeout=20)
    (stored.interrupt if how == "interrupt" else stored.close)()
    for reader in readers:
        reader.join(20)  # far below QUICK.stall
        assert isinstance(reader.raised, ps.errors.StoreError)
    with pytest.raises(ps.errors.StoreError, match="closed"):
        stored.read(0, 10)
    stored.close()


def test_given_a_reader_that_waits_to_try_again_when_the_file_is_closed_then_it_learns_it_at_once(
    server: WebServer,
) -> None:
    stored = opened(server, Patience(longest_asked=3600.0))
    asked = threading.Event()

    def answer(handler: object, data: bytes, start: int, end: int) -> None:
        asked.set()
        status(503, Retry_After="3600")(handler, data, start, end)  # type: ignore[arg-type]

    server.always = answer
    reader = Reading(server, stored)
    assert asked.wait(20)
    stored.close()
    reader.join(20)
    assert isinstance(reader.raised, ps.errors.StoreError)


def test_when_threads_read_one_file_then_each_gets_its_bytes(server: WebServer) -> None:
    stored = opened(server)
    got: dict[int, bytes] = {}

    def take(k: int) -> None:
        got[k] = b"".join(stored.read(at, 50_000) for at in range(k * 300_000, (k + 1) * 300_000, 50_000))

    server.faults += [cut_after(10), None, status(503), None, cut_at_once, None]
    threads = [threading.Thread(target=take, args=(k,)) for k in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert b"".join(got[k] for k in range(10)) == DATA
    stored.close()
