"""Files of an object store, over the real protocol of S3."""

from __future__ import annotations

import errno
import threading
from collections.abc import Iterator

import fsspec
import numpy as np
import pytest

import penstock as ps
from penstock.io.stores.opening import open_stored
from penstock.io.stores.ranges import PIECE
from penstock.io.stores.remote import RemoteFile
from penstock.io.stores.retry import Patience
from penstock.io.stores.writing import open_for_writing
from servers.proxy import Fault, Proxy, cut_after, fewer, hang_after, refuse

DATA = np.random.default_rng(3).bytes(2 * PIECE + 4321)
QUICK = Patience(tries=3, first=0.001, longest=0.002, longest_asked=0.001)


@pytest.fixture
def proxy(s3_port: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """A proxy that `s3://` leads to, and a file `s3://bucket/a.bin` behind it."""
    proxy = Proxy(s3_port)
    settings = {"key": "a", "secret": "b", "config_kwargs": {"retries": {"max_attempts": 0}}}
    straight = fsspec.filesystem("s3", endpoint_url=f"http://127.0.0.1:{s3_port}", **settings)
    straight.mkdirs("bucket", exist_ok=True)
    straight.pipe_file("bucket/a.bin", DATA)
    monkeypatch.setitem(fsspec.config.conf, "s3", {"endpoint_url": proxy.address, **settings})
    yield proxy
    proxy.stop()


@pytest.fixture
def writable(s3_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"key": "a", "secret": "b", "endpoint_url": f"http://127.0.0.1:{s3_port}"}
    fsspec.filesystem("s3", **settings).mkdirs("written", exist_ok=True)
    monkeypatch.setitem(fsspec.config.conf, "s3", settings)


def opened(patience: Patience = QUICK) -> RemoteFile:
    return RemoteFile("s3://bucket/a.bin", patience=patience)


def test_when_a_range_is_read_then_only_that_range_is_asked_for(proxy: Proxy) -> None:
    with open_stored("s3://bucket/a.bin") as stored:
        assert stored.size == len(DATA)
        assert stored.slow
        assert stored.read(1000, 500) == DATA[1000:1500]
        assert stored.read(len(DATA) - 5, 100) == DATA[-5:]
    assert proxy.asked == ["1000-1499", f"{len(DATA) - 5}-{len(DATA) - 1}"]


def test_when_a_large_range_is_read_then_it_comes_in_bounded_pieces(proxy: Proxy) -> None:
    with opened() as stored:
        assert stored.read(7, len(DATA)) == DATA[7:]
    assert len(proxy.asked) == 3


def test_given_another_file_of_that_name_when_it_is_opened_then_its_stamp_is_another(
    proxy: Proxy, s3_port: int
) -> None:
    with opened() as stored:
        before = stored.stamp
    fs = fsspec.filesystem("s3", endpoint_url=f"http://127.0.0.1:{s3_port}", key="a", secret="b")
    fs.pipe_file("bucket/a.bin", DATA[::-1])
    with opened() as stored:
        assert stored.stamp != before
        assert stored.read(0, 10) == DATA[::-1][:10]


FAULTS: dict[str, Fault] = {
    "cut before the answer": cut_after(-1),
    "cut before the body": cut_after(0),
    "cut in the body": cut_after(70_000),
    "503": refuse(503, "ServiceUnavailable", "Retry-After: 9\r\n"),
    "500": refuse(500, "InternalError"),
    "slow down": refuse(503, "SlowDown"),
    "429": refuse(429, "TooManyRequests"),
    "a short answer": fewer(1000),
    "an empty answer": fewer(0),
}


@pytest.mark.parametrize("name", FAULTS)
def test_given_a_fault_that_passes_then_the_bytes_are_right(proxy: Proxy, name: str) -> None:
    with opened() as stored:
        proxy.faults += [FAULTS[name], FAULTS[name], None]
        assert stored.read(1000, 1_200_000) == DATA[1000:1_201_000]


@pytest.mark.parametrize("name", ["503", "500", "an empty answer"])
def test_given_a_fault_that_does_not_pass_then_the_error_says_what_where_and_how_often(
    proxy: Proxy, name: str
) -> None:
    with opened() as stored:
        proxy.always = FAULTS[name]
        with pytest.raises(ps.errors.StoreError) as caught:
            stored.read(1000, 500)
    assert (caught.value.file, caught.value.offset) == ("s3://bucket/a.bin", 1000)
    for part in ("s3://bucket/a.bin at byte 1000", "500 bytes", "3 times", name.split()[-1]):
        assert part.replace("answer", "none came") in str(caught.value)
    assert len(proxy.asked) == 3


def test_given_no_access_when_it_is_read_then_it_is_tried_once(proxy: Proxy) -> None:
    with opened() as stored:
        proxy.always = refuse(403, "AccessDenied")
        with pytest.raises(ps.errors.StoreError, match=r"refused.*credentials") as caught:
            stored.read(0, 10)
    assert caught.value.errno == errno.EACCES
    assert len(proxy.asked) == 1


def test_given_no_such_file_then_the_error_says_so(proxy: Proxy) -> None:
    with pytest.raises(ps.errors.StoreError, match="no such file") as caught:
        open_stored("s3://bucket/missing.bin")
    assert caught.value.errno == errno.ENOENT
    assert caught.value.file == "s3://bucket/missing.bin"


def test_given_a_folder_then_the_error_says_so(proxy: Proxy) -> None:
    with pytest.raises(ps.errors.StoreError, match="folder") as caught:
        open_stored("s3://bucket")
    assert caught.value.errno == errno.EISDIR


@pytest.mark.parametrize("size", [-1, 0, 1000])
def test_given_a_store_that_hangs_when_the_file_is_closed_then_the_reader_learns_it_at_once(
    proxy: Proxy, size: int
) -> None:
    stored = opened(Patience(total=3600.0))
    proxy.always = hang_after(size)
    raised: list[BaseException] = []

    def wait() -> None:
        try:
            stored.read(0, 100_000)
        except BaseException as error:
            raised.append(error)

    reader = threading.Thread(target=wait)
    reader.start()
    assert proxy.hanging.acquire(timeout=20)
    stored.close()
    reader.join(10)  # s3fs itself waits for longer
    assert "closed" in str(raised[0])


def test_given_a_store_that_hangs_then_the_read_fails_in_the_end(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened() as stored:
        monkeypatch.setattr(stored._ranges, "_total", 0.1)
        proxy.always = hang_after(10)
        with pytest.raises(ps.errors.StoreError, match=r"no answer came in time.*3 times"):
            stored.read(0, 1000)


@pytest.mark.parametrize("size", [0, 10, 20 << 20])
def test_when_a_file_is_written_then_it_is_there_after_the_commit_and_not_before(
    writable: None, size: int
) -> None:
    address = f"s3://written/{size}.bin"
    data = np.random.default_rng(size).bytes(size)
    with open_for_writing(address) as file:
        for at in range(0, size, 1 << 20):
            file.write(data[at : at + (1 << 20)])
        with pytest.raises(ps.errors.StoreError, match="no such file"):
            open_stored(address)
    with open_stored(address) as stored:
        assert (stored.size, stored.read(0, size)) == (size, data)


@pytest.mark.parametrize("size", [10, 20 << 20])
def test_when_writing_fails_then_what_was_there_before_is_as_it_was(writable: None, size: int) -> None:
    address = f"s3://written/kept-{size}.bin"
    with open_for_writing(address) as file:
        file.write(b"before")
    with pytest.raises(KeyError), open_for_writing(address) as file:
        file.write(bytes(size))
        raise KeyError
    with open_stored(address) as stored:
        assert stored.read(0, 100) == b"before"


def test_given_no_such_bucket_when_a_file_is_written_then_the_error_says_so(writable: None) -> None:
    with (
        pytest.raises(ps.errors.StoreError, match=r"s3://nowhere/a\.bin"),
        open_for_writing("s3://nowhere/a.bin") as f,
    ):
        f.write(b"x")
