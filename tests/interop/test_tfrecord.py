"""TFRecord files: what TensorFlow writes is read here, and what is written here TensorFlow reads."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from interop.test_signatures import check
from interop.words import Words
from penstock.sources import TFRecordDataset

COMPRESSIONS = [None, "GZIP", "ZLIB"]


def records(seed: int = 3) -> list[bytes]:
    bits = random.Random(seed)
    sizes = [0, 1, 11, 400, 5000, 300_000, 3, *bits.choices(range(2000), k=300)]
    return [bits.randbytes(size) for size in sizes]


def read_there(tf: Any, names: Any, *args: Any, **more: Any) -> list[bytes]:
    return [one.numpy() for one in tf.data.TFRecordDataset(names, *args, **more)]


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_given_a_file_of_tensorflow_then_it_is_read_here(
    compression: str | None, theirs: Words, tmp_path: Path
) -> None:
    tf = theirs.tf  # type: ignore[attr-defined]
    with tf.io.TFRecordWriter(str(tmp_path / "theirs"), compression) as writer:
        for record in records():
            writer.write(record)
    assert list(TFRecordDataset(tmp_path / "theirs", compression)) == records()


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_given_a_file_written_here_then_tensorflow_reads_it(
    compression: str | None, theirs: Words, tmp_path: Path
) -> None:
    tf = theirs.tf  # type: ignore[attr-defined]
    with ps.io.TFRecordWriter(tmp_path / "ours", compression) as writer:
        for record in records():
            writer.write(record)
    assert read_there(tf, str(tmp_path / "ours"), compression) == records()


def test_given_the_same_records_then_both_write_the_same_file(theirs: Words, tmp_path: Path) -> None:
    tf = theirs.tf  # type: ignore[attr-defined]
    for name, words in (("theirs", tf), ("ours", ps)):
        with words.io.TFRecordWriter(str(tmp_path / name)) as writer:
            for record in [*records(), "ä", bytearray(b"x")]:
                writer.write(record)
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


@pytest.mark.parametrize("reads", [None, 1, 2, 3, 9])
def test_given_parallel_reads_then_the_order_is_tensorflows(
    reads: int | None, theirs: Words, tmp_path: Path
) -> None:
    tf = theirs.tf  # type: ignore[attr-defined]
    names = []
    for number, size in enumerate([3, 0, 5, 1, 8]):
        names.append(str(tmp_path / str(number)))
        with ps.io.TFRecordWriter(names[-1]) as writer:
            for i in range(size):
                writer.write(f"{number}.{i}")
    there = read_there(tf, names, num_parallel_reads=reads)
    assert list(TFRecordDataset(names, num_parallel_reads=reads)) == there
    named = ps.Dataset.from_tensor_slices(names)
    assert list(TFRecordDataset(named, num_parallel_reads=reads)) == there


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_given_a_file_cut_off_then_both_give_the_records_before_and_ours_always_says_so(
    compression: str | None, theirs: Words, tmp_path: Path
) -> None:
    tf = theirs.tf  # type: ignore[attr-defined]
    file = tmp_path / "some"
    with ps.io.TFRecordWriter(file, compression) as writer:
        for record in (b"one", b"two" * 50, b"three"):
            writer.write(record)
    whole = file.read_bytes()
    for size in range(1, len(whole), 7):
        file.write_bytes(whole[:size])
        there = _before(tf, file, compression)
        here, failed = [], 0
        with TFRecordDataset(file, compression).iterate() as it:
            while True:
                try:
                    here.append(next(it))
                except ps.errors.DataError:
                    failed += 1
                except StopIteration:
                    break
        assert here == there
        ends = (0, 19, 19 + 166)
        assert failed == (compression is not None or size not in ends)


def _before(tf: Any, file: Path, compression: str | None) -> list[bytes]:
    """What TensorFlow gives of a file before it fails or ends."""
    out: list[bytes] = []
    with contextlib.suppress(tf.errors.DataLossError):
        out.extend(one.numpy() for one in tf.data.TFRecordDataset(str(file), compression))
    return out


def test_given_the_words_then_their_arguments_are_tensorflows(theirs: Words) -> None:
    tf = theirs.tf  # type: ignore[attr-defined]
    check("TFRecordDataset", TFRecordDataset, tf.data.TFRecordDataset)
    check("TFRecordWriter", ps.io.TFRecordWriter, tf.io.TFRecordWriter)
    check("TFRecordOptions", ps.io.TFRecordOptions, tf.io.TFRecordOptions)
