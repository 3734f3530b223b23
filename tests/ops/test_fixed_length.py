"""`FixedLengthRecordDataset`: its records, and files whose length does not fit."""

from __future__ import annotations

import atexit
import gzip
import shutil
import tempfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from contract.op_contract import OpContract, drain
from penstock.sources import FixedLengthRecordDataset

FOLDER = Path(tempfile.mkdtemp(prefix="penstock-records-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
BODY = bytes(range(256)) * 100


def file(name: str, data: bytes) -> str:
    path = FOLDER / name
    path.write_bytes(data)
    return str(path)


class TestFixedLength(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        return {
            "records": lambda: FixedLengthRecordDataset(file("a", b"abcdef"), 2),
            "with ends": lambda: FixedLengthRecordDataset(file("b", b"<<" + BODY + b">>>"), 100, 2, 3),
            "packed": lambda: FixedLengthRecordDataset(
                file("c", gzip.compress(b"<<" + BODY + b">>>")), 100, 2, 3, 0, "GZIP"
            ),
            "in turn": lambda: FixedLengthRecordDataset(
                [file("d", b"abc"), file("e", b"DEFG")], 1, num_parallel_reads=2
            ),
        }


@pytest.mark.parametrize("header", [0, 3, 9000])
@pytest.mark.parametrize("footer", [0, 1, 9000])
@pytest.mark.parametrize("record", [1, 7, 4096, 12800])
def test_given_ends_of_any_size_then_the_records_between_come(header: int, footer: int, record: int) -> None:
    body = BODY[: len(BODY) // record * record]
    data = b"<" * header + body + b">" * footer
    expected = [body[at : at + record] for at in range(0, len(body), record)]
    for name, packed, compression in (("f", data, None), ("g", zlib.compress(data), "ZLIB")):
        ds = FixedLengthRecordDataset(
            file(name, packed), record, header, footer, buffer_size=0, compression_type=compression
        )
        assert drain(ds, limit=len(expected) + 1) == expected


@pytest.mark.parametrize(
    "data, before, said, offset",
    [
        (b"HHabcdefgF", [b"abc", b"def"], "got 7 bytes between", 8),
        (b"H", [], "got 1 bytes with", 1),
        (b"HH", [], "got 2 bytes with", 2),
        (b"", [], "got 0 bytes with", 0),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_given_a_length_that_does_not_fit_then_that_is_said_and_the_next_file_comes(
    data: bytes, before: list[bytes], said: str, offset: int, packed: bool
) -> None:
    def made(content: bytes) -> bytes:
        return gzip.compress(content) if packed else content

    paths = [file("bad", made(data)), file("good", made(b"HHxyzF"))]
    ds = FixedLengthRecordDataset(paths, 3, 2, 1, compression_type="GZIP" if packed else None)
    got: list[Any] = []
    with ds.iterate() as it:
        with pytest.raises(ps.errors.DataError, match=said) as caught:
            got.extend(it)
        got.extend(it)
    # Where the length is known before, no record of a file that does not fit is given.
    assert got == [*(before if packed else []), b"xyz"]
    assert caught.value.file == paths[0] and caught.value.offset == min(offset, len(data))
    assert "expected whole records of 3 bytes" in str(caught.value)


@pytest.mark.parametrize("which", ["record_bytes", "header_bytes", "footer_bytes"])
def test_given_a_wrong_size_then_declaring_fails_with_the_users_line(which: str) -> None:
    sizes = {"record_bytes": 3, which: -1}
    with pytest.raises(ps.errors.ArgumentError, match=rf"{which}=\) at .*test_fixed_length\.py:\d+"):
        FixedLengthRecordDataset("a", **sizes)
