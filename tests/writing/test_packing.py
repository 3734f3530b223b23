"""Compressed in pieces, side by side: one stream that everybody reads, whatever it was fed with."""

from __future__ import annotations

import gzip
import random
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import zstandard

from penstock.writing.packing import KINDS, PIECE


def unzstd(data: bytes) -> bytes:
    return zstandard.ZstdDecompressor().decompressobj(read_across_frames=True).decompress(data)


READERS: dict[str, Callable[[bytes], bytes]] = {
    "GZIP": gzip.decompress,
    "ZLIB": zlib.decompress,
    "ZSTD": unzstd,
}


def packed(kind: str, data: bytes, feed: int, most: int) -> bytes:
    out = bytearray()
    with ThreadPoolExecutor(3) as executor:
        packing = KINDS[kind](out.extend, executor, most)
        for start in range(0, len(data), feed):
            packing.feed(memoryview(data)[start : start + feed])
        packing.end()
    return bytes(out)


def letters(size: int) -> bytes:
    return bytes(random.Random(size).choices(b"abcdefgh", k=size))


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("size", [0, 1, 1000, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 77])
def test_given_bytes_when_packed_then_an_ordinary_reader_has_them_back(kind: str, size: int) -> None:
    data = letters(size)
    assert READERS[kind](packed(kind, data, 100_000, 2)) == data


@pytest.mark.parametrize("kind", READERS)
def test_given_other_parts_and_more_pieces_at_once_then_the_file_is_the_same(kind: str) -> None:
    data = letters(3 * PIECE + 5)
    expected = packed(kind, data, 7_777, 1)
    assert packed(kind, data, len(data), 4) == expected
    assert packed(kind, data, PIECE, 2) == expected


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB"])
def test_given_repeated_bytes_then_pieces_refer_to_those_before_them(kind: str) -> None:
    noise = random.Random(1).randbytes(20_000)
    once = len(packed(kind, noise, len(noise), 1))
    pieces = len(packed(kind, (noise * 80)[: 3 * PIECE], PIECE, 1))
    alone = zlib.compress((noise * 80)[: 3 * PIECE])
    # A piece that could not look back would have all of the noise again: three times in all.
    assert pieces < len(alone) + once
