"""`ps.io.TFRecordWriter` and `ps.io.TFRecordOptions`."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.frames import framed
from penstock.blocks.columns import BytesColumn
from penstock.sources import TFRecordDataset

COMPRESSIONS = [None, "", "GZIP", "ZLIB", "ZSTD"]
RECORDS = [b"one", b"", b"three" * 30, bytes(5000), b"five"]


def column(records: list[bytes]) -> BytesColumn:
    lengths = [len(record) for record in records]
    return BytesColumn(np.frombuffer(b"".join(records), np.uint8), np.cumsum([0, *lengths]), text=False)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "some.tfrecord"


@pytest.mark.parametrize("size", [None, 1, 40, 6000])
def test_given_records_then_the_file_is_as_the_format_is_described(file: Path, size: int | None) -> None:
    with ps.io.TFRecordWriter(file, ps.io.TFRecordOptions(output_buffer_size=size)) as writer:
        for record in RECORDS:
            writer.write(record)
        writer.write_block(column(RECORDS))
        writer.write_block(column(RECORDS).slice(1, 3))
        writer.write_block(column([]))
    assert file.read_bytes() == framed(*RECORDS, *RECORDS, *RECORDS[1:3])


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("size", [None, 1, 4096])
def test_given_a_compression_then_what_was_written_is_read(
    file: Path, compression: str | None, size: int | None
) -> None:
    options = ps.io.TFRecordOptions(compression, input_buffer_size=size, compression_level=2)
    with ps.io.TFRecordWriter(file, options) as writer:
        for record in RECORDS:
            writer.write(record)
            writer.flush()
        writer.write_block(column(RECORDS))
    assert list(TFRecordDataset(file, compression)) == RECORDS * 2


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_given_no_records_then_the_file_is_whole_and_empty(file: Path, compression: str | None) -> None:
    ps.io.TFRecordWriter(str(file), compression).close()
    assert list(TFRecordDataset(file, compression)) == []


def test_given_other_bytes_like_things_then_they_are_written_as_they_were(file: Path) -> None:
    changing = bytearray(b"abc")
    with ps.io.TFRecordWriter(file) as writer:
        writer.write(changing)
        changing[:] = b"xyz"
        writer.write(memoryview(np.arange(3, dtype=np.int32)))
        writer.write(memoryview(b"abcdef")[::2])
        writer.write("ä")
    assert list(TFRecordDataset(file)) == [
        b"abc",
        np.arange(3, dtype=np.int32).tobytes(),
        b"ace",
        b"\xc3\xa4",
    ]


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_when_flushed_then_others_can_read_what_was_written(file: Path, compression: str | None) -> None:
    with ps.io.TFRecordWriter(file, compression) as writer:
        writer.write(b"first")
        writer.flush()
        with TFRecordDataset(file, compression).iterate() as it:
            assert next(it) == b"first"


def test_when_closed_then_nothing_more_can_be_written_and_closing_again_is_fine(file: Path) -> None:
    writer = ps.io.TFRecordWriter(file)
    writer.write(b"one")
    writer.close()
    writer.close()
    for use in (lambda: writer.write(b"two"), lambda: writer.write_block(column([b"two"])), writer.flush):
        with pytest.raises(ps.errors.ClosedError, match=r"some\.tfrecord was closed"):
            use()
    assert file.read_bytes() == framed(b"one")


def test_when_a_writer_is_dropped_then_what_it_held_is_written(file: Path) -> None:
    writer = ps.io.TFRecordWriter(file, "GZIP")
    writer.write(b"kept")
    del writer
    gc.collect()
    assert list(TFRecordDataset(file, "GZIP")) == [b"kept"]


def test_when_the_block_of_a_with_fails_then_its_error_is_the_one_that_is_seen() -> None:
    with pytest.raises(KeyError, match="mine"), ps.io.TFRecordWriter("/dev/full") as writer:
        writer.write(b"never")
        raise KeyError("mine")


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_given_a_full_disk_then_writing_is_a_store_error_that_names_the_file(compression: str | None) -> None:
    writer = ps.io.TFRecordWriter("/dev/full", compression)
    writer.write(b"one")
    with pytest.raises(ps.errors.StoreError, match=r"/dev/full at byte 0: No space left") as caught:
        writer.flush()
    assert caught.value.file == "/dev/full"
    with pytest.raises(ps.errors.StoreError, match="No space left"):
        writer.write(b"two")
    with pytest.raises(ps.errors.StoreError, match="No space left"):
        writer.close()
    writer.close()


def test_given_a_writer_that_nobody_closed_then_its_file_is_whole_at_the_end_of_the_process(
    file: Path,
) -> None:
    code = (
        "import atexit, sys\n"
        "import penstock as ps\n"
        "atexit.register(lambda: print(set(sys.modules) - before))\n"  # called after the writer is closed
        "writer = ps.io.TFRecordWriter(sys.argv[1])\n"
        "writer.write(b'one')\n"
        "before = set(sys.modules)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=True, timeout=120
    )
    assert set(TFRecordDataset(file)) == {b"one"}
    assert ran.stdout == "set()\n"  # from Python 3.12 on, nothing that starts threads can be loaded then


@pytest.mark.parametrize("flush, told", [("writer.flush()", 0), ("pass", 1)])
def test_given_a_writer_that_nobody_closed_then_an_error_is_told_once(flush: str, told: int) -> None:
    code = (
        "import penstock as ps\n"
        "writer = ps.io.TFRecordWriter('/dev/full')\n"
        "writer.write(b'one')\n"
        "try:\n"
        f"    {flush}\n"
        "except ps.errors.StoreError:\n"
        "    print('caught')\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.stdout.count("caught") + told == 1
    assert ran.stderr.count("StoreError: /dev/full") == told


def test_given_a_disk_that_fills_up_then_the_file_ends_with_a_whole_record(file: Path) -> None:
    code = (
        "import json, resource, sys\n"
        "import penstock as ps\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))\n"
        "writer = ps.io.TFRecordWriter(sys.argv[1], ps.io.TFRecordOptions(output_buffer_size=3000))\n"
        "try:\n"
        "    for _ in range(100): writer.write(bytes(500))\n"
        "except ps.errors.StoreError as error:\n"
        "    print(json.dumps([error.file, error.offset, error.errno]))\n"
        "    writer.__exit__(type(error), error, None)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=True, timeout=120
    )
    name, offset, number = json.loads(done.stdout)
    assert (name, offset, number) == (str(file), 10_000, 27)
    assert set(TFRecordDataset(file)) == {bytes(500)}


def test_given_a_folder_that_is_not_there_then_it_is_a_store_error(tmp_path: Path) -> None:
    with pytest.raises(ps.errors.StoreError, match=r"missing/some: No such file"):
        ps.io.TFRecordWriter(tmp_path / "missing" / "some")


def test_given_options_of_zlib_then_they_are_used(file: Path) -> None:
    options = ps.io.TFRecordOptions(
        "ZLIB",
        flush_mode=zlib.Z_FULL_FLUSH,
        window_bits=9,
        compression_level=0,
        compression_method=zlib.DEFLATED,
        mem_level=1,
        compression_strategy=zlib.Z_HUFFMAN_ONLY,
    )
    with ps.io.TFRecordWriter(file, options) as writer:
        writer.write(bytes(1000))
        writer.flush()
    stored = file.read_bytes()
    assert len(stored) > 1000  # level 0 compresses nothing
    assert stored[0] == 0x18  # a window of 9 bits
    assert list(TFRecordDataset(file, "ZLIB")) == [bytes(1000)]


@pytest.mark.parametrize(
    "make, kind, said",
    [
        (
            lambda: ps.io.TFRecordOptions("gzip"),
            ValueError,
            r"compression_type=\) at .*'GZIP', 'ZLIB', 'ZSTD'",
        ),
        (lambda: ps.io.TFRecordOptions("GZIP", mem_level=99), ValueError, "settings that zlib takes"),
        (lambda: ps.io.TFRecordOptions(output_buffer_size=0), ValueError, "at least 1, got 0"),
        (lambda: ps.io.TFRecordOptions(input_buffer_size="x"), TypeError, "a whole number"),  # type: ignore[arg-type]
        (lambda: ps.io.TFRecordWriter("x", "gzip"), ValueError, "'gzip'"),
        (lambda: ps.io.TFRecordWriter("x", 3), TypeError, r"options=\) at .*got 3"),  # type: ignore[arg-type]
        (lambda: ps.io.TFRecordWriter(3), TypeError, r"path=\) at .*got 3"),  # type: ignore[arg-type]
        (lambda: ps.io.TFRecordWriter(""), TypeError, r"path=\) at .*expected a path, got ''"),
        (lambda: ps.io.TFRecordWriter("s3://bucket/x"), ValueError, "a file of this machine"),
    ],
)
def test_given_wrong_arguments_then_it_fails_at_once_and_names_the_line(
    make: Any, kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind, match=said) as caught:
        make()
    assert "test_tfrecord_writer.py:" in str(caught.value)
    assert not Path("x").exists()


def test_given_something_that_is_no_record_then_it_is_refused_and_the_file_stays_good(file: Path) -> None:
    with ps.io.TFRecordWriter(file) as writer:
        with pytest.raises(TypeError, match=r"write at .*expected bytes, got 3"):
            writer.write(3)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"write_block at .*expected a BytesColumn"):
            writer.write_block(b"one")  # type: ignore[arg-type]
        writer.write(b"good")
    assert file.read_bytes() == framed(b"good")
