"""`TextLineDataset`: its lines, and what all datasets over files share."""

from __future__ import annotations

import atexit
import gzip
import random
import shutil
import tempfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract, drain
from contract.streams import events
from penstock.blocks.columns import BytesColumn
from penstock.sources import TextLineDataset

FOLDER = Path(tempfile.mkdtemp(prefix="penstock-lines-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)


def file(name: str, data: bytes) -> str:
    path = FOLDER / name
    path.write_bytes(data)
    return str(path)


def numbered(*sizes: int) -> list[str]:
    """Files with so many lines, `file.line` on each."""
    return [
        file(f"numbered-{i}-{size}", b"".join(b"%d.%d\n" % (i, j) for j in range(size)))
        for i, size in enumerate(sizes)
    ]


LONG = b"".join(b"x" * (n * 37 % 500) + b"\n" for n in range(200))


class TestTextLine(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        return {
            "lines": lambda: TextLineDataset(file("a", b"one\r\ntwo\n\nthree")),
            "nothing": lambda: TextLineDataset(file("b", b"")),
            "several files": lambda: TextLineDataset(numbered(3, 0, 2)),
            "in turn": lambda: TextLineDataset(numbered(3, 1, 4, 0, 2), num_parallel_reads=2),
            "gzip": lambda: TextLineDataset(file("c", gzip.compress(LONG)), "GZIP", buffer_size=0),
            "long": lambda: TextLineDataset(file("d", LONG)),
            "names": lambda: TextLineDataset(ps.Dataset.from_tensor_slices(numbered(2, 3))),
            "names in turn": lambda: TextLineDataset(
                ps.Dataset.from_tensor_slices(numbered(2, 3)), num_parallel_reads=ps.AUTOTUNE
            ),
        }


@pytest.mark.parametrize(
    "data, lines",
    [
        (b"", []),
        (b"\n", [b""]),
        (b"a", [b"a"]),
        (b"a\n", [b"a"]),
        (b"a\n\nb", [b"a", b"", b"b"]),
        (b"\r\n\r\n", [b"", b""]),
        (b"a\r\nb\rc\n\rd\r\r\ne\r", [b"a", b"b\rc", b"\rd\r", b"e\r"]),
        (b"\n\r\n", [b"", b""]),
        (b"a\0b\xff\n\xc3", [b"a\0b\xff", b"\xc3"]),
    ],
)
def test_given_bytes_then_lines_come_without_their_ends(data: bytes, lines: list[bytes]) -> None:
    assert list(TextLineDataset(file("lines", data))) == lines


def plain_lines(data: bytes) -> list[bytes]:
    """The lines as Python's own words tell them."""
    parts = data.split(b"\n")
    ended = [part.removesuffix(b"\r") for part in parts[:-1]]
    return ended + ([parts[-1]] if parts[-1] else [])


def test_given_any_bytes_then_every_buffer_and_block_gives_the_same_lines() -> None:
    draw = random.Random(11)
    for _ in range(40):
        data = b"".join(
            draw.choices([b"a", b"\n", b"\r", b"\r\n", b"bc" * 3000, b"\0"], k=draw.randrange(60))
        )
        path, packed = file("any", data), file("any.z", zlib.compress(data))
        expected = plain_lines(data)
        for size in (0, 5_000, 100_000):
            assert drain(TextLineDataset(path, buffer_size=size)) == expected
        small = TextLineDataset(packed, "ZLIB", 0).with_options(ps.Options(block_rows=3))
        assert drain(small) == expected


def test_given_lines_then_a_block_is_one_buffer_without_an_object_a_line() -> None:
    with TextLineDataset(file("d", LONG)).with_options(ps.Options(block_rows=64)).iterate() as it:
        block = it._run.next_block()
    assert block is not None and block.rows == 64
    assert isinstance(block.columns[0], BytesColumn)


def test_given_a_line_beyond_the_budget_then_a_budget_error_says_where_it_is() -> None:
    path = file("huge", b"short\n" + b"x" * (8 << 20))
    with (
        TextLineDataset(path).iterate(memory=2 << 20) as it,
        pytest.raises(ps.errors.BudgetError, match=r"one line, at byte 6 of .*huge"),
    ):
        assert next(it) == b"short"
        next(it)


def test_given_a_damaged_file_then_its_good_lines_and_the_next_file_come() -> None:
    packed = gzip.compress(LONG * 100)
    bad = file("cut.gz", packed[: len(packed) // 2])
    good = file("good.gz", gzip.compress(b"last\n"))
    with TextLineDataset([bad, good], "GZIP").iterate() as it:
        first = 0
        with pytest.raises(ps.errors.DataError, match="cut off") as caught:
            for line in it:
                assert line == LONG.split(b"\n")[first % 200]
                first += 1
        assert first > 200 and caught.value.file == bad and caught.value.number == first
        assert list(it) == [b"last"]


@pytest.mark.parametrize("reads", [1, 2, 3, 9])
def test_given_parallel_reads_then_files_come_in_turn_as_with_interleave(reads: int) -> None:
    names = numbered(3, 1, 4, 0, 2)
    expected = ps.Dataset.from_tensor_slices(names).interleave(
        TextLineDataset, cycle_length=reads, block_length=1
    )
    ds = TextLineDataset(names, num_parallel_reads=reads, name="mine")
    assert list(ds) == list(expected)
    assert ds.element_spec == ps.TensorSpec((), bytes)
    assert "TextLineDataset" in str(ds.explain())


@pytest.mark.parametrize(
    "made",
    [
        lambda names: names[0],
        lambda names: Path(names[0]),
        lambda names: names[0].encode(),
        lambda names: [Path(names[0])],
        lambda names: np.array(names[:1]),
        lambda names: np.array([names[:1]], object),
        lambda names: ps.Dataset.from_tensor_slices([names[0].encode()]),
        lambda names: ps.Dataset.from_generator(lambda: iter(names[:1])),
    ],
)
@pytest.mark.parametrize("reads", [None, 2])
def test_given_names_in_any_form_then_the_files_are_read(made: Any, reads: int | None) -> None:
    assert list(TextLineDataset(made(numbered(2)), num_parallel_reads=reads)) == [b"0.0", b"0.1"]


@pytest.mark.parametrize(
    "given, error, said",
    [
        ([], ps.errors.ArgumentError, "at least one file name"),
        ("", ps.errors.ArgumentError, "expected file names, got ''"),
        (3, ps.errors.ArgumentTypeError, "expected a file name, a list of them or a dataset"),
        (["a", 3], ps.errors.ArgumentTypeError, "expected a file name"),
        (None, ps.errors.ArgumentTypeError, "expected a file name"),
        ("a\0b", ps.errors.ArgumentError, "expected file names"),
    ],
)
def test_given_no_names_then_declaring_fails_with_the_users_line(given: Any, error: type, said: str) -> None:
    with pytest.raises(error, match=rf"TextLineDataset\(filenames=\) at .*test_text_line\.py:\d+: .*{said}"):
        TextLineDataset(given)


def test_given_a_dataset_of_numbers_then_declaring_fails() -> None:
    with pytest.raises(ps.errors.ArgumentTypeError, match="a dataset of file names, got one of int64"):
        TextLineDataset(ps.Dataset.range(3))


@pytest.mark.parametrize("reads", [None, 2])
def test_given_a_dataset_whose_elements_turn_out_to_be_no_names_then_that_element_fails(
    reads: int | None,
) -> None:
    names = ps.Dataset.from_generator(lambda: iter([3, *numbered(1)]))
    assert events(TextLineDataset(names, num_parallel_reads=reads)) == ["failed", b"0.0"]


@pytest.mark.parametrize(
    "arguments, said",
    [
        ({"compression_type": "LZMA"}, "'GZIP', 'ZLIB', 'ZSTD', got 'LZMA'"),
        ({"num_parallel_reads": 0}, "expected at least 1 or ps.AUTOTUNE"),
        ({"buffer_size": -1}, "expected at least 0"),
    ],
)
def test_given_a_wrong_argument_then_declaring_fails_with_the_users_line(
    arguments: dict[str, Any], said: str
) -> None:
    with pytest.raises(ps.errors.ArgumentError, match=rf"test_text_line\.py:\d+: .*{said}"):
        TextLineDataset("a", **arguments)


@pytest.mark.parametrize("reads", [None, 2])
def test_given_a_missing_file_then_the_store_says_so(reads: int | None) -> None:
    missing = str(FOLDER / "missing")
    with pytest.raises(ps.errors.StoreError, match="No such file") as caught:
        list(TextLineDataset([missing], num_parallel_reads=reads))
    assert caught.value.file == missing


def test_given_options_on_the_dataset_of_names_then_they_hold() -> None:
    names = ps.Dataset.from_tensor_slices(numbered(9)).with_options(ps.Options(block_rows=2))
    with TextLineDataset(names).iterate() as it:
        block = it._run.next_block()
    assert block is not None and block.rows == 2


@pytest.mark.parametrize("name", ["", "lines-*.txt"])
def test_given_a_folder_or_a_pattern_then_the_error_names_the_line_and_list_files(
    name: str, tmp_path: Path
) -> None:
    with pytest.raises(ps.errors.StoreError, match=r"test_text_line\.py:\d+: .*list_files") as caught:
        list(ps.TextLineDataset(str(tmp_path / name)))
    assert caught.value.file == str(tmp_path / name)
