"""Patterns over addresses."""

from __future__ import annotations

import errno
import glob
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import fsspec
import pytest

import penstock as ps
from penstock.io.stores.calls import Calls
from penstock.io.stores.listing import list_paths
from penstock.io.stores.remote_listing import list_remote
from penstock.io.stores.retry import Patience
from servers.proxy import Proxy, cut_after, hang_after, refuse

NAMES = [
    "a/1.bin",
    "a/2.bin",
    "a/.hidden.bin",
    "a/.x/9.bin",
    "a/b/3.bin",
    "a/b/c/4.bin",
    "a/b/c/5.txt",
    "d/6.bin",
]
PATTERNS = [
    "a/*.bin",
    "a/*",
    "*/*.bin",
    "a/[!1].bin",
    "a/?.bin",
    "a/**",
    "a/**/*.bin",
    "**/c/*",
    "a/b/*/4.bin",
    "a/.*.bin",
    "a/1.bin",
    "a/b",
    "a/none.bin",
    "nowhere/*.bin",
]
QUICK = Patience(tries=3, first=0.001, longest=0.002)


def as_a_shell_does(folder: Path, pattern: str) -> list[str]:
    """The files that the standard library finds, as names in `folder`."""
    found = glob.glob(str(folder / pattern), recursive=True)  # noqa: PTH207
    return sorted({str(Path(path).relative_to(folder)) for path in found if Path(path).is_file()})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in NAMES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    return tmp_path


@pytest.fixture
def memory(folder: Path) -> Iterator[Any]:
    fs = fsspec.filesystem("memory")
    for name in NAMES:
        fs.pipe_file(f"/root/{name}", b"x")
    yield fs
    fs.store.clear()
    fs.pseudo_dirs[:] = [""]


@pytest.fixture
def proxy(s3_port: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    settings = {"key": "a", "secret": "b", "config_kwargs": {"retries": {"max_attempts": 0}}}
    straight = fsspec.filesystem("s3", endpoint_url=f"http://127.0.0.1:{s3_port}", **settings)
    straight.mkdirs("listed", exist_ok=True)
    for name in NAMES:
        straight.pipe_file(f"listed/root/{name}", b"x")
    proxy = Proxy(s3_port)
    monkeypatch.setitem(fsspec.config.conf, "s3", {"endpoint_url": proxy.address, **settings})
    yield proxy
    proxy.stop()


@pytest.fixture
def web(folder: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("pattern", PATTERNS)
def test_given_a_pattern_in_memory_then_it_matches_as_in_a_shell(
    memory: Any, folder: Path, pattern: str
) -> None:
    expected = [f"memory://root/{name}" for name in as_a_shell_does(folder, pattern)]
    assert list_paths(f"memory://root/{pattern}") == expected


@pytest.mark.parametrize("pattern", PATTERNS)
def test_given_a_pattern_in_s3_then_it_matches_as_in_a_shell(
    proxy: Proxy, folder: Path, pattern: str
) -> None:
    expected = [f"s3://listed/root/{name}" for name in as_a_shell_does(folder, pattern)]
    assert list_paths(f"s3://listed/root/{pattern}") == expected


@pytest.mark.parametrize("pattern", ["a/*.bin", "a/**/*.bin", "nowhere/*"])
def test_given_a_pattern_on_a_web_server_that_lists_folders_then_it_matches(
    web: str, folder: Path, pattern: str
) -> None:
    assert list_paths(f"{web}/{pattern}") == [f"{web}/{name}" for name in as_a_shell_does(folder, pattern)]


def test_given_the_index_of_a_file_in_a_store_then_no_pattern_gives_it(memory: Any) -> None:
    for name in ("d/.6.bin.penstock-index", "d/6.bin.penstock-index"):
        memory.pipe_file(f"/root/{name}", b"x")
    for pattern in ("d/*", "d/**", "d/[.6]*", "d/6.bin*"):
        assert list_paths(f"memory://root/{pattern}") == ["memory://root/d/6.bin"]
    assert list_paths("memory://root/d/.*") == []


def test_given_a_file_address_then_its_scheme_is_kept(folder: Path) -> None:
    assert list_paths(f"file://{folder}/a/*.bin") == [f"file://{folder}/a/{k}.bin" for k in (1, 2)]


def test_given_files_that_have_come_since_then_they_are_listed(
    memory: Any, proxy: Proxy, s3_port: int
) -> None:
    assert len(list_paths("s3://listed/root/d/*")) == 1
    other = fsspec.filesystem("s3", endpoint_url=f"http://127.0.0.1:{s3_port}", key="a", secret="b")
    other.pipe_file("listed/root/d/7.bin", b"x")
    assert len(list_paths("s3://listed/root/d/*")) == 2
    other.rm_file("listed/root/d/7.bin")


@pytest.mark.parametrize("fault", [refuse(503, "ServiceUnavailable"), cut_after(-1), cut_after(20)])
def test_given_a_listing_that_fails_for_a_moment_then_no_file_is_left_out(
    proxy: Proxy, folder: Path, fault: Any
) -> None:
    proxy.listing_faults += [None, fault, fault, None, fault]
    found = list_remote("s3://listed/root/a/**/*.bin", Calls("s3://listed"), QUICK)
    assert found == [f"s3://listed/root/{name}" for name in as_a_shell_does(folder, "a/**/*.bin")]


@pytest.mark.parametrize("fault", [refuse(503, "ServiceUnavailable"), refuse(403, "AccessDenied")])
def test_given_a_listing_that_fails_for_good_then_it_is_an_error(proxy: Proxy, fault: Any) -> None:
    proxy.listing_faults += [None, *[fault] * 9]
    with pytest.raises(ps.errors.StoreError, match="a/b: expected a list of files") as caught:
        list_remote("s3://listed/root/a/**/*.bin", Calls("s3://listed"), QUICK)
    assert caught.value.errno != errno.ENOENT


def test_given_a_listing_that_hangs_when_the_calls_are_ended_then_who_waits_learns_it(proxy: Proxy) -> None:
    calls = Calls("s3://listed")
    proxy.listing_faults.append(hang_after(-1))
    raised: list[BaseException] = []

    def wait() -> None:
        try:
            list_remote("s3://listed/root/a/*", calls)
        except BaseException as error:
            raised.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    assert proxy.hanging.acquire(timeout=20)
    calls.close()
    waiting.join(10)
    assert "closed" in str(raised[0])
