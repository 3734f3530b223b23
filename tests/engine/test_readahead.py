"""The seam of read-ahead."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.engine import aside
from penstock.engine.readahead import DEPTH, RANGE, ReadAhead
from penstock.io.stores.remote import RemoteFile
from penstock.io.stores.retry import Patience
from penstock.io.stores.stored import Stored
from penstock.memory.ledger import Ledger
from servers.web import WebServer, cut_after, hang_after, status

DATA = np.random.default_rng(2).bytes(12 * RANGE + 12345)


class Place:
    """What the seam uses of a stage's context."""

    run = None
    label = "files"

    def __init__(self, budget: int = 1 << 30) -> None:
        self.ledger = Ledger(budget)
        self.account = self.ledger.account(self.label)
        self.notes: list[str] = []
        self.ends: list[Callable[[], None]] = []

    def on_close(self, end: Callable[[], None]) -> Callable[[], None]:
        self.ends.append(end)
        return lambda: self.ends.remove(end) if end in self.ends else None

    def note(self, text: str) -> None:
        self.notes.append(text)


class Held(Stored):
    """Bytes in memory; those from `shut_from` on are given only once `gate` is set."""

    path = "held"
    stamp = "1"
    slow = True

    def __init__(self, data: bytes = DATA, shut_from: int = len(DATA)) -> None:
        self.data = data
        self.size = len(data)
        self.asked: list[tuple[int, int]] = []
        self.threads: set[str] = set()
        self.began = threading.Semaphore(0)
        self.fails_at = -1
        self.closed = False
        self.shut_from = shut_from
        self.gate = threading.Event()

    def read_into(self, start: int, out: memoryview) -> int:
        self.asked.append((start, len(out)))
        self.threads.add(threading.current_thread().name)
        self.began.release()
        if start >= self.shut_from:
            assert self.gate.wait(30)
        if start <= self.fails_at < start + len(out):
            self.fails_at = -1
            raise ps.errors.StoreError("broken", file=self.path, offset=start)
        part = self.data[start : start + len(out)]
        out[: len(part)] = part
        return len(part)

    def close(self) -> None:
        self.closed = True


def ahead(stored: Stored, place: Place) -> ReadAhead:
    return ReadAhead(stored, place)  # type: ignore[arg-type]


def threads_of_read_ahead() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.endswith("-ahead")]


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    assert threads_of_read_ahead() == []


@pytest.fixture
def server() -> Iterator[WebServer]:
    server = WebServer()
    yield server
    server.stop()


@pytest.mark.parametrize("size", [64 << 10, RANGE, 3 * RANGE + 7, len(DATA)])
def test_when_a_file_is_read_in_order_then_the_bytes_are_right_and_each_is_fetched_once(size: int) -> None:
    place, stored = Place(), Held()
    with ahead(stored, place) as file:
        got = b"".join(file.read(at, size) for at in range(0, len(DATA), size))
        assert got == DATA
        assert place.account.held <= DEPTH * RANGE
    fetched = sorted(stored.asked)
    assert sum(count for _, count in fetched) == len(DATA)
    assert [at for at, _ in fetched] == [0, *np.cumsum([count for _, count in fetched])[:-1]]
    assert stored.closed
    assert place.ledger.held == 0
    assert place.ends == []


def test_given_one_read_then_no_more_than_that_is_fetched() -> None:
    stored = Held()
    with ahead(stored, Place()) as file:
        assert file.read(0, 1000) == DATA[:1000]
    assert stored.asked == [(0, 1000)]


def test_given_a_reader_at_work_then_the_next_ranges_are_on_their_way_in_threads() -> None:
    stored = Held(shut_from=2 * RANGE)
    with ahead(stored, Place()) as file:
        file.read(0, RANGE)
        assert file.read(RANGE, 10) == DATA[RANGE : RANGE + 10]
        for _ in range(3):
            assert stored.began.acquire(timeout=20)
        stored.gate.set()
        assert sorted(start for start, _ in stored.asked) == [0, RANGE, 2 * RANGE]
        assert stored.threads == {threading.current_thread().name, "penstock-files-ahead"}


def test_given_reads_here_and_there_then_none_is_read_ahead() -> None:
    stored, place = Held(), Place()
    spots = [(5_000_000, 100), (0, 50), (7_000_000, 10), (100, 10)]
    with ahead(stored, place) as file:
        for start, size in spots:
            assert file.read(start, size) == DATA[start : start + size]
        assert stored.asked == spots
        assert place.account.peak == 0


def test_given_a_glance_elsewhere_then_the_window_stays() -> None:
    stored = Held()
    with ahead(stored, Place()) as file:
        file.read(0, 100)
        file.read(100, 100)
        assert file.read(9_000_000, 10) == DATA[9_000_000:9_000_010]
        assert file.read(200, RANGE) == DATA[200 : 200 + RANGE]
    assert sum(start == 100 for start, _ in stored.asked) == 1
    assert (200, RANGE) not in stored.asked


@pytest.mark.parametrize("jump", [RANGE + 5, 6 * RANGE])
def test_when_the_reader_skips_then_the_bytes_are_right(jump: int) -> None:
    with ahead(Held(), Place()) as file:
        at = 0
        for k in range(12):
            assert file.read(at, 1000) == DATA[at : at + 1000]
            at += 1000 + (jump if k % 3 == 2 else 0)


def test_given_no_room_in_the_budget_then_reads_go_straight_to_the_file_and_the_report_says_so() -> None:
    stored, place = Held(), Place(budget=RANGE // 2)
    with ahead(stored, place) as file:
        assert b"".join(file.read(at, 100_000) for at in range(0, len(DATA), 100_000)) == DATA
        assert place.account.peak == 0
        assert threads_of_read_ahead() == []
    assert place.notes
    assert all(count <= 100_000 for _, count in stored.asked)


def test_given_little_room_then_the_window_is_as_large_as_fits() -> None:
    place = Place(budget=2 * RANGE + 5)
    with ahead(Held(), place) as file:
        assert b"".join(file.read(at, 100_000) for at in range(0, len(DATA), 100_000)) == DATA
    assert place.ledger.peak == 2 * RANGE
    assert place.ledger.held == 0


def test_given_memory_that_is_needed_elsewhere_then_ranges_are_given_back() -> None:
    place = Place(budget=20 * RANGE)
    with ahead(Held(), place) as file:
        got = b"".join(file.read(at, 100_000) for at in range(0, 60 * 100_000, 100_000))
        before = place.account.held
        place.ledger.account("other").expect(19 * RANGE)
        got += b"".join(file.read(at, 100_000) for at in range(60 * 100_000, len(DATA), 100_000))
        assert got == DATA
        assert place.account.held < before
        assert place.account.held <= RANGE


def test_given_a_range_that_fails_then_the_error_comes_in_its_place_and_reading_goes_on() -> None:
    stored = Held()
    stored.fails_at = 5 * RANGE + 77
    got, errors, at = b"", 0, 0
    with ahead(stored, Place()) as file:
        while at < len(DATA):
            try:
                part = file.read(at, 50_000)
            except ps.errors.StoreError as error:
                assert str(error) == "broken"
                errors += 1
                continue
            got += part
            at += len(part)
    assert (errors, got) == (1, DATA)


def test_given_several_threads_that_read_then_each_gets_its_bytes() -> None:
    got: dict[int, bytes] = {}

    def take(k: int) -> None:
        got[k] = b"".join(file.read(at, 30_000) for at in range(k * 3_000_000, (k + 1) * 3_000_000, 30_000))

    with ahead(Held(), Place()) as file:
        threads = [threading.Thread(target=take, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert b"".join(got[k] for k in range(4)) == DATA[: 4 * 3_000_000]


def test_given_no_thread_to_be_had_then_reads_go_straight_to_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuses(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuses)
    place = Place()
    with ahead(Held(), place) as file:
        assert b"".join(file.read(at, 100_000) for at in range(0, len(DATA), 100_000)) == DATA
    assert place.ledger.held == 0


def test_given_a_web_server_with_faults_then_the_bytes_are_right(server: WebServer) -> None:
    place, quick = Place(), Patience(tries=3, first=0.001, longest_asked=0.001)
    stored = RemoteFile(server.put("a.bin", DATA), patience=quick)
    server.faults += [None, cut_after(1000), None, status(503, Retry_After="9"), cut_after(0), None, None]
    with ahead(stored, place) as file:
        assert b"".join(file.read(at, 65_536) for at in range(0, len(DATA), 65_536)) == DATA
    assert place.ledger.held == 0


@pytest.mark.parametrize("how", ["close", "end of the run"])
def test_given_a_server_that_hangs_when_it_is_closed_then_the_reader_learns_it_and_the_threads_end(
    server: WebServer, how: str
) -> None:
    place = Place()
    file = ahead(RemoteFile(server.put("a.bin", DATA)), place)
    file.read(0, 1000)
    server.always = hang_after(500)
    raised: list[BaseException] = []

    def wait() -> None:
        try:
            file.read(1000, 1000)
        except BaseException as error:
            raised.append(error)

    reader = threading.Thread(target=wait)
    reader.start()
    for _ in range(2):
        assert server.hanging.acquire(timeout=20)
    if how == "close":
        file.close()
        assert threads_of_read_ahead() == []
    else:
        for end in list(place.ends):
            end()
    reader.join(20)
    assert not reader.is_alive()  # the server itself would keep it for longer
    assert isinstance(raised[0], ps.errors.StoreError)
    file.close()
    assert place.ledger.held == 0


def test_given_a_file_that_nothing_can_interrupt_then_closing_leaves_its_thread_which_gives_back_at_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(aside, "GRACE", 0.01)
    place, stored = Place(), Held(shut_from=1000)
    file = ahead(stored, place)
    file.read(0, 1000)
    raised: list[Any] = []

    def wait() -> None:
        try:
            file.read(1000, 1000)
        except ps.errors.StoreError as error:
            raised.append(error)

    reader = threading.Thread(target=wait)
    reader.start()
    for _ in range(3):
        assert stored.began.acquire(timeout=20)
    left = threads_of_read_ahead()
    file.close()
    reader.join(20)
    assert "closed" in str(raised[0])
    assert place.ledger.held == 2 * RANGE
    stored.gate.set()
    for thread in left:
        thread.join(20)
    assert place.ledger.held == 0
