"""TFRecord files, whole and damaged, as blocks."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from contract.frames import checksum, framed, head, offsets, packed
from penstock.sources import TFRecordDataset

COMPRESSIONS = [None, "GZIP", "ZLIB", "ZSTD"]
RECORDS = [b"one", b"", b"three" * 30, b"\0" * 9, b"five"]


def events(*files: Path, compression: str | None = None, **how: Any) -> list[Any]:
    """The records, and the errors in their places."""
    out: list[Any] = []
    with TFRecordDataset(list(files), compression).iterate(**how) as it:
        while True:
            try:
                out.append(next(it))
            except StopIteration:
                return out
            except ps.errors.DataError as error:
                assert error.op == "TFRecordDataset"
                assert Path(error.file) in files
                assert error.number == len(out)
                out.append(error)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "some.tfrecord"


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("buffer_size", [None, 0, 100, 1 << 20])
def test_given_a_file_then_its_records_come_whatever_the_buffer(
    file: Path, compression: str | None, buffer_size: int | None
) -> None:
    bits = random.Random(1)
    records = [bits.randbytes(bits.choice([0, 1, 30, 700, 9000])) for _ in range(300)]
    file.write_bytes(packed(framed(*records), compression))
    assert list(TFRecordDataset(file, compression, buffer_size=buffer_size)) == records


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_given_records_larger_than_the_buffer_then_they_come_whole(
    file: Path, compression: str | None
) -> None:
    records = [b"a" * 10, random.Random(2).randbytes(300_000), b"b", bytes(250_000), b"c" * 70_000, b"d"]
    file.write_bytes(packed(framed(*records), compression))
    assert list(TFRecordDataset(file, compression, buffer_size=4096)) == records


def test_given_an_empty_file_then_it_has_no_records(file: Path) -> None:
    file.write_bytes(b"")
    assert events(file) == []


@pytest.mark.parametrize("place", [12, 14, 15, 18])
def test_given_a_damaged_record_then_it_costs_one_error_and_reading_goes_on(file: Path, place: int) -> None:
    records = [b"before", b"damaged", b"after"]
    data = bytearray(framed(*records))
    start = offsets(records)[1]
    data[start + place] ^= 0x10
    file.write_bytes(data)
    first, error, last = events(file)
    assert (first, last) == (b"before", b"after")
    assert (error.file, error.offset, error.number) == (str(file), start, 1)
    assert f"{file}, record 1 at byte {start}: expected 7 bytes with the checksum" in str(error)
    assert "test_tfrecord.py:" in str(error)


@pytest.mark.parametrize("place", range(12))
def test_given_a_damaged_length_then_the_file_ends_there_and_the_next_goes_on(
    tmp_path: Path, place: int
) -> None:
    broken, good = tmp_path / "broken", tmp_path / "good"
    data = bytearray(framed(*RECORDS))
    start = offsets(RECORDS)[3]
    data[start + place] ^= 0x40
    broken.write_bytes(data)
    good.write_bytes(framed(b"x", b"y"))
    got = events(good, broken, good)
    assert got[:5] + got[6:] == [b"x", b"y", *RECORDS[:3], b"x", b"y"]
    assert (got[5].file, got[5].offset) == (str(broken), start)
    assert "expected the length of a record with its checksum" in str(got[5])


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_given_a_file_cut_anywhere_then_all_before_comes_and_one_error(
    file: Path, compression: str | None
) -> None:
    whole = packed(framed(*RECORDS), compression)
    ends = offsets(RECORDS)
    for size in range(len(whole)):
        file.write_bytes(whole[:size])
        got = events(file, compression=compression)
        if compression is None and size in ends:
            assert got == RECORDS[: ends.index(size)]
            continue
        *records, error = got
        assert isinstance(error, ps.errors.DataError), size
        assert records == RECORDS[: len(records)]
        if compression is None:
            assert len(records) == sum(end <= size for end in ends[1:])
            assert error.offset == ends[len(records)]
            assert "The file is cut off" in str(error)


def test_given_a_file_that_becomes_shorter_then_the_error_says_how_much_there_is(file: Path) -> None:
    file.write_bytes(framed(*[bytes(1000)] * 3000))
    with TFRecordDataset(file, buffer_size=4096).iterate() as it:
        next(it)
        os.truncate(file, 1016 * 2000 + 50)
        with pytest.raises(
            ps.errors.DataError, match=r"the record in 1016 bytes, got 50\. The file is cut off"
        ):
            list(it)


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("place", [0, 3, 12, 17, -1, -5])
def test_given_compressed_data_with_a_wrong_byte_then_nothing_wrong_comes(
    file: Path, compression: str | None, place: int
) -> None:
    whole = bytearray(packed(framed(*RECORDS), compression))
    whole[place] ^= 0x55
    file.write_bytes(whole)
    got = events(file, compression=compression)
    records = [one for one in got if isinstance(one, bytes)]
    assert all(one in RECORDS for one in records)
    if records == RECORDS:  # what a header says of the time and the system changes nothing
        assert compression == "GZIP" or len(got) > len(records)
    else:
        assert len(got) > len(records)


@pytest.mark.parametrize("compression", [None, "GZIP", "ZLIB"])
@pytest.mark.parametrize("length", [1 << 20, 1 << 40, 1 << 63, (1 << 64) - 1])
def test_given_a_length_that_cannot_be_then_nothing_is_allocated_for_it(
    file: Path, compression: str | None, length: int
) -> None:
    file.write_bytes(packed(framed(b"ok") + head(length) + b"a little" + checksum(b""), compression))
    with TFRecordDataset(file, compression).iterate(memory="1MiB") as it:
        assert next(it) == b"ok"
        with pytest.raises(ps.errors.DataError, match="cut off") as caught:
            next(it)
        assert caught.value.offset == 18
        assert list(it) == []
        assert it._run.ledger.peak < 1 << 20


def test_given_a_record_beyond_the_budget_then_it_says_so_and_allocates_nothing(file: Path) -> None:
    file.write_bytes(packed(framed(b"ok", bytes(8 << 20)), "ZSTD"))
    with TFRecordDataset(file, "ZSTD").iterate(memory="4MiB") as it:
        assert next(it) == b"ok"
        with pytest.raises(ps.errors.BudgetError, match=r"TFRecordDataset.*one record, of 8 MiB"):
            next(it)
        assert it._run.ledger.peak < 4 << 20


@pytest.mark.parametrize("compression", ["GZIP", "ZLIB", "ZSTD"])
def test_given_a_compressed_file_that_is_read_as_plain_then_the_message_says_what_it_is(
    file: Path, compression: str
) -> None:
    file.write_bytes(packed(framed(*RECORDS), compression))
    with pytest.raises(ps.errors.DataError, match=f"say compression_type='{compression}'"):
        list(TFRecordDataset(file))


@pytest.mark.parametrize("compression", ["GZIP", "ZLIB", "ZSTD"])
def test_given_a_plain_file_that_is_read_as_compressed_then_it_is_an_error(
    file: Path, compression: str
) -> None:
    file.write_bytes(framed(*RECORDS))
    (error,) = events(file, compression=compression)
    assert "Is compression_type right" in str(error)


def test_given_a_damaged_record_larger_than_the_buffer_then_reading_goes_on_after_it(file: Path) -> None:
    large = bytes(200_000)
    data = bytearray(framed(b"a", large, b"b"))
    data[50_000] ^= 1
    file.write_bytes(data)
    first, error, last = events(file, memory="2MiB")
    assert (first, last, error.offset) == (b"a", b"b", 17)


def test_given_a_missing_file_then_it_is_a_store_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(ps.errors.StoreError, match="nothing-here"):
        list(TFRecordDataset(tmp_path / "nothing-here"))


@pytest.mark.parametrize("compression", ["GZIP", "ZLIB", "ZSTD"])
def test_given_a_length_beyond_the_budget_that_compressed_data_do_not_reach_then_it_is_cut_off(
    file: Path, compression: str
) -> None:
    noise = random.Random(4).randbytes(20_000)  # so that what it says could be there, packed
    file.write_bytes(packed(framed(b"ok") + head(4 << 20) + noise, compression))
    first, error = events(file, compression=compression, memory="1MiB")
    assert (first, error.offset) == (b"ok", 18)
    assert "cut off" in str(error)


def test_given_a_length_beyond_the_file_then_it_is_damage_however_large_the_file_is(file: Path) -> None:
    file.write_bytes(framed(b"ok") + head(1 << 40) + bytes(3 << 20))
    first, error = events(file, memory="1MiB")
    assert (first, error.offset) == (b"ok", 18)
    assert "cut off" in str(error)


def test_given_several_damaged_records_then_each_is_called_by_its_number_in_the_file(file: Path) -> None:
    records = [b"some"] * 5
    data = bytearray(framed(*records))
    for number in (1, 2, 4):
        data[offsets(records)[number] + 12] ^= 1
    file.write_bytes(data)
    got = events(file)
    assert [number for number, one in enumerate(got) if one != b"some"] == [1, 2, 4]
    assert all(f"record {number} at byte {20 * number}:" in str(got[number]) for number in (1, 2, 4))


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_given_blocks_that_are_kept_then_reading_on_does_not_change_them(
    file: Path, compression: str | None
) -> None:
    records = [bytes([number % 251]) * (number % 700) for number in range(400)]
    file.write_bytes(packed(framed(*records), compression))
    with TFRecordDataset(file, compression, buffer_size=4096).iterate() as it:
        blocks = list(iter(it._run.next_block, None))
        assert len(blocks) > 10
        assert [record for block in blocks for record in block.elements()] == records
