"""Compressed files: what is unpacked, what is damaged, and how much is held meanwhile."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import zstandard

from penstock.errors import DataError
from penstock.io.stores.decompress import open_stream

CONTEXT: Any = SimpleNamespace(label="op", where="op at here.py:1", read_ahead=lambda stored: stored)
DATA = np.random.default_rng(3).bytes(150_000) + b"a" * 1_000_000 + b"abc" * 50_000


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


PACK = {"": bytes, "GZIP": gzip.compress, "ZLIB": zlib.compress, "ZSTD": zstd}
SKIPPABLE = (0x184D2A53).to_bytes(4, "little") + (70_000).to_bytes(4, "little") + bytes(70_000)


def unpacked(path: Path, packed: bytes, compression: str, size: int = 100_000) -> tuple[bytes, str]:
    """What comes out in pieces of `size`, and what is then said to be wrong."""
    path.write_bytes(packed)
    stream = open_stream(str(path), compression, CONTEXT)
    out, buffer = bytearray(), bytearray(size)
    try:
        while True:
            count = stream.read_into(memoryview(buffer))
            out += buffer[:count]
            if count < size:
                after = stream.read_into(memoryview(buffer))
                assert after == 0
                return bytes(out), ""
    except DataError as error:
        assert error.op == "op" and error.file == str(path) and 0 <= error.offset <= len(packed)
        assert stream.read_into(memoryview(buffer)) == 0
        return bytes(out), str(error)
    finally:
        stream.close()


@pytest.mark.parametrize("compression", PACK)
@pytest.mark.parametrize("size", [7_777, 100_000, 4_000_000])
def test_given_a_packed_file_then_reads_of_every_size_give_its_bytes(
    tmp_path: Path, compression: str, size: int
) -> None:
    assert unpacked(tmp_path / "f", PACK[compression](DATA), compression, size) == (DATA, "")


@pytest.mark.parametrize("size", [1_000, 100_000])
@pytest.mark.parametrize(
    "compression, between",
    [("GZIP", b""), ("GZIP", b"\0" * 70_000), ("ZSTD", b""), ("ZSTD", SKIPPABLE)],
)
def test_given_several_members_then_all_are_read(
    tmp_path: Path, compression: str, between: bytes, size: int
) -> None:
    one = PACK[compression](DATA)
    assert unpacked(tmp_path / "f", one + between + one, compression, size) == (DATA * 2, "")


@pytest.mark.parametrize("compression", ["GZIP", "ZLIB", "ZSTD"])
def test_given_a_file_cut_anywhere_then_that_is_said_after_the_good_bytes(
    tmp_path: Path, compression: str
) -> None:
    packed = PACK[compression](DATA)
    for cut in (0, 1, 5, 9, 1_000, len(packed) // 2, len(packed) - 5, len(packed) - 1):
        got, said = unpacked(tmp_path / "f", packed[:cut], compression)
        assert "cut off" in said and f"expected {compression} data" in said, cut
        assert DATA.startswith(got), cut


@pytest.mark.parametrize("compression", ["GZIP", "ZLIB", "ZSTD"])
def test_given_other_bytes_then_that_is_said(tmp_path: Path, compression: str) -> None:
    assert "compression_type" in unpacked(tmp_path / "f", b"plain text is no packed data", compression)[1]
    packed = PACK[compression](DATA)
    got, said = unpacked(tmp_path / "f", packed + b"junk", compression)
    assert got == DATA and said
    damaged = bytearray(packed)
    damaged[len(packed) // 2] ^= 0xFF
    assert unpacked(tmp_path / "f", bytes(damaged), compression)[1]


@pytest.mark.parametrize("compression", ["GZIP", "ZLIB", "ZSTD"])
def test_given_a_file_that_unpacks_a_thousandfold_then_no_more_than_asked_is_made(
    tmp_path: Path, compression: str
) -> None:
    (tmp_path / "bomb").write_bytes(PACK[compression](bytes(64 << 20)))
    stream = open_stream(str(tmp_path / "bomb"), compression, CONTEXT)
    buffer = memoryview(bytearray(1 << 16))
    tracemalloc.start()
    try:
        total = 0
        while count := stream.read_into(buffer):
            total += count
        assert total == 64 << 20
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
        stream.close()


def test_given_a_zstandard_window_beyond_eight_megabytes_then_it_is_refused(tmp_path: Path) -> None:
    form = zstandard.ZstdCompressionParameters(window_log=25)
    packer = zstandard.ZstdCompressor(compression_params=form).compressobj()
    packed = packer.compress(DATA * 10) + packer.flush()
    said = unpacked(tmp_path / "f", packed, "ZSTD")[1]
    assert said.endswith(
        "8 MiB of what came before. Pack it anew with a level up to 19, without --ultra and --long."
    )
