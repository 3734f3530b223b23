"""Addresses that fsspec opens."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest

import penstock as ps
from penstock.io.stores.local import LocalFile
from penstock.io.stores.opening import open_stored
from penstock.io.stores.ranges import PIECE

DATA = bytes(range(256)) * (2 * PIECE // 256) + b"rest"


@pytest.fixture
def memory() -> Iterator[Any]:
    fs = fsspec.filesystem("memory")
    yield fs
    fs.store.clear()
    fs.pseudo_dirs[:] = [""]


def test_given_a_file_in_memory_then_its_ranges_are_read(memory: Any) -> None:
    memory.pipe_file("/data/a.bin", DATA)
    with open_stored("memory://data/a.bin") as stored:
        assert (stored.size, stored.path) == (len(DATA), "memory://data/a.bin")
        assert stored.read(3, len(DATA)) == DATA[3:]
        assert stored.read(len(DATA), 5) == b""
        out = bytearray(10)
        assert stored.read_into(len(DATA) - 4, memoryview(out)) == 4
        assert out == b"rest" + bytes(6)


def test_given_another_file_of_that_name_then_its_stamp_is_another(memory: Any) -> None:
    memory.pipe_file("/a.bin", b"one")
    first = open_stored("memory://a.bin").stamp
    memory.pipe_file("/a.bin", b"two")
    assert open_stored("memory://a.bin").stamp != first


def test_given_a_file_that_has_become_shorter_then_the_error_says_where(
    memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.pipe_file("/a.bin", DATA)
    with open_stored("memory://a.bin") as stored:
        memory.pipe_file("/a.bin", DATA[:100])
        monkeypatch.setattr(stored._calls, "pause", lambda seconds: False)  # type: ignore[attr-defined]
        with pytest.raises(
            ps.errors.StoreError, match=r"at byte 100: expected the 900 bytes .* none came"
        ) as caught:
            stored.read(0, 1000)
    assert caught.value.offset == 100


@pytest.mark.parametrize("name,says", [("missing", "no such file"), ("", "folder"), ("folder", "folder")])
def test_given_no_file_there_then_the_error_says_what_is(memory: Any, name: str, says: str) -> None:
    memory.pipe_file("/folder/a.bin", b"x")
    with pytest.raises(ps.errors.StoreError, match=says) as caught:
        open_stored(f"memory://{name}")
    assert caught.value.file == f"memory://{name}"


def test_given_a_file_in_a_packed_file_then_its_ranges_are_read(tmp_path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
        packed.writestr("b.bin", DATA)
    with open_stored(f"zip://b.bin::file://{tmp_path}/a.zip") as stored:
        assert stored.read(1000, PIECE) == DATA[1000 : 1000 + PIECE]


@pytest.mark.parametrize("scheme", ["file://", "FILE://", ""])
def test_given_a_path_or_a_file_address_then_the_file_of_this_machine_is_read(
    tmp_path: Path, scheme: str
) -> None:
    (tmp_path / "a b%20.bin").write_bytes(b"abc")
    with open_stored(f"{scheme}{tmp_path}/a b%20.bin") as stored:
        assert isinstance(stored, LocalFile)
        assert stored.read(1, 5) == b"bc"


def test_given_an_address_that_nobody_knows_then_the_error_says_so() -> None:
    with pytest.raises(ps.errors.StoreError, match="nosuch"):
        open_stored("nosuch://a/b")


@pytest.mark.parametrize(
    "address,package,remedy",
    [
        ("s3://a/b", "fsspec", "pip install '.[remote]'"),
        ("s3://a/b", "s3fs", "pip install s3fs"),
        ("gs://a/b", "gcsfs", "pip install gcsfs"),
        ("http://127.0.0.1/b", "aiohttp", "pip install aiohttp"),
    ],
)
def test_given_a_package_that_is_missing_then_the_error_says_what_to_install(
    address: str, package: str, remedy: str
) -> None:
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "import penstock as ps\n"
        "from penstock.io.stores.opening import open_stored\n"
        f"try: open_stored({address!r})\n"
        "except ps.errors.StoreError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert address in done.stdout
    assert remedy in done.stdout


def test_when_a_local_file_is_opened_then_fsspec_is_not_loaded(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    code = (
        "import sys, penstock.io.stores.opening as opening\n"
        f"opening.open_stored({str(tmp_path / 'a')!r}).close()\n"
        "print({'fsspec', 'aiohttp', 'asyncio'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "set()"
