"""Damages TFRecord files in many ways and reads them: the right data comes, or a `DataError`.

PYTHONPATH=src:tests python -m fuzz.tfrecord 1000000
"""

from __future__ import annotations

import argparse
import random
import resource
import struct
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from time import perf_counter

import penstock as ps
from contract.frames import checksum, framed, head, offsets, packed
from penstock.kernels.crc32c import masked, plain_crc32c
from penstock.sources import TFRecordDataset

BUDGET = 1 << 20
RECORDS = 150
MOST = 200 * RECORDS
"""More than come of any file, even where damage has compressed data say something again and again."""
COMPRESSIONS = (None, None, None, "GZIP", "ZLIB", "ZSTD")

Outcome = bytes | None
"""A record, or None in the place of one that failed."""


def flip(bits: random.Random, data: bytearray, first: int, last: int) -> None:
    """Change some bytes of a part."""
    for _ in range(bits.choice([1, 1, 1, 2, 8])):
        if first < last:
            data[bits.randrange(first, last)] ^= bits.randrange(1, 256)


def cut(bits: random.Random, data: bytearray, at: int) -> None:
    """End the file somewhere behind a place."""
    del data[bits.randrange(at, len(data) + 1) :]


def drop(bits: random.Random, data: bytearray, at: int) -> None:
    """Take some bytes out."""
    del data[at : at + bits.randrange(1, 40)]


def insert(bits: random.Random, data: bytearray, at: int) -> None:
    """Put some bytes in."""
    data[at:at] = bits.randbytes(bits.randrange(1, 40))


def repeat(bits: random.Random, data: bytearray, at: int) -> None:
    """Say something twice."""
    data[at:at] = data[at : at + bits.randrange(1, 400)]


def wrong_head(bits: random.Random, data: bytearray, at: int) -> None:
    """Change a length or its checksum."""
    flip(bits, data, at, min(at + 12, len(data)))


def forged_head(bits: random.Random, data: bytearray, at: int) -> None:
    """Put a length that is not the record's, with the right checksum."""
    length = bits.choice([0, 1, bits.randrange(1000), 1 << 20, 1 << 33, 1 << 61, 1 << 63, (1 << 64) - 1])
    data[at : at + 12] = head(length)


def zeros(bits: random.Random, data: bytearray, at: int) -> None:
    """Overwrite with zeros, as a disk may give them."""
    end = min(len(data), at + bits.randrange(1, 3000))
    data[at:end] = bytes(end - at)


STRUCTURE: list[Callable[[random.Random, bytearray, int], None]] = [
    cut, drop, insert, repeat, wrong_head, forged_head, zeros,
]  # fmt: skip


def expected(data: bytes) -> Iterator[Outcome]:
    """What a file that is not compressed holds, found slowly and plainly."""
    at = 0
    while at < len(data):
        start = data[at : at + 12]
        if len(start) < 12 or masked(plain_crc32c(start[:8])) != struct.unpack("<I", start[8:])[0]:
            yield None
            return
        (length,) = struct.unpack("<Q", start[:8])
        if at + 16 + length > len(data):
            yield None
            return
        record = data[at + 12 : at + 12 + length]
        yield record if checksum(record) == data[at + 12 + length : at + 16 + length] else None
        at += 16 + length


def outcomes(file: Path, compression: str | None) -> list[Outcome]:
    """What reading gives; anything but records and errors with their place is a failure."""
    out: list[Outcome] = []
    with TFRecordDataset(file, compression, buffer_size=1 << 14).iterate(memory=BUDGET) as it:
        while True:
            try:
                out.append(next(it))
            except StopIteration:
                break
            except ps.errors.DataError as error:
                assert error.file == str(file), error
                assert error.offset >= 0, error
                assert error.number == len(out), error
                out.append(None)
            assert len(out) <= MOST, "it does not end"
        assert it._run.ledger.peak <= BUDGET, it._run.ledger.peak
    return out


def one_file(bits: random.Random, file: Path, seen: Counter[str]) -> int:
    """Damage one file and read it; how many elements came, good or failed."""
    sizes = bits.choices([0, 1, 7, 20, 60, 200], k=RECORDS)
    sizes[bits.randrange(RECORDS)] = 5000
    records = [bits.randbytes(size) for size in sizes]
    data, starts = bytearray(framed(*records)), offsets(records)
    compression = bits.choice(COMPRESSIONS)
    inside = compression is None or bits.random() < 0.5
    if inside:
        for start, end in pairwise(starts):
            flip(bits, data, start + 12, end)
        if bits.random() < 0.4:
            bits.choice(STRUCTURE)(bits, data, bits.choice(starts[RECORDS // 2 : -1]))
    whole = bytearray(packed(bytes(data), compression))
    if not inside:
        bits.choice([cut, drop, insert, repeat, zeros, lambda b, d, at: flip(b, d, at, len(d))])(
            bits, whole, bits.randrange(len(whole))
        )
    file.write_bytes(whole)
    got = outcomes(file, compression)
    if inside:
        assert got == list(expected(bytes(data))), (len(got), compression)
    else:
        good = [one for one in got if one is not None]
        assert all(one in records for one in good)
        assert len(good) >= RECORDS or None in got
    seen["good"] += sum(one is not None for one in got)
    seen["failed"] += got.count(None)
    seen["files"] += 1
    seen[f"files {compression}"] += 1
    return len(got)


def fuzz(count: int, seed: int) -> Counter[str]:
    """Read so many elements of damaged files; what came."""
    seen: Counter[str] = Counter()
    done = 0
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "damaged"
        number = 0
        while done < count:
            name = f"{seed}-{number}"
            try:
                done += one_file(random.Random(name), file, seen)
            except BaseException:
                print(f"file {name} went wrong: one_file(random.Random({name!r}), ...)", file=sys.stderr)
                raise
            number += 1
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description="Read damaged TFRecord files.")
    parser.add_argument("count", type=int, nargs="?", default=10_000, help="how many elements")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    fuzz(1, 0)  # everything is compiled and loaded now
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, perf_counter()
    seen = fuzz(given.count, given.seed)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(dict(seen), f"{perf_counter() - began:.0f} s, {grown} KiB more at the peak")


if __name__ == "__main__":
    main()
