"""`ps.ArrayRecordDataset`."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import penstock as ps
from contract.op_contract import OpContract, drain
from contract.streams import FAILED, events
from penstock.sources import ArrayRecordDataset

library = pytest.importorskip("array_record.python.array_record_module")

FOLDER = Path(tempfile.mkdtemp(prefix="penstock-arrayrecord-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)


def record(i: int) -> bytes:
    return b"%d," % i * (i % 50)


def written(name: str, first: int, count: int, group: int) -> str:
    path = FOLDER / name
    if not path.exists():
        writer = library.ArrayRecordWriter(str(path), f"group_size:{group}")
        for i in range(first, first + count):
            writer.write(record(i))
        writer.close()
    return str(path)


def a() -> str:
    return written("a", 0, 100, 1)


def b() -> str:
    return written("b", 100, 60, 8)


class TestArrayRecord(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        return {
            "one file": lambda: ArrayRecordDataset(a()),
            "several files": lambda: ArrayRecordDataset([a(), b()]),
            "shuffled": lambda: ArrayRecordDataset([a(), b()]).shuffle(30),
            "shuffled whole": lambda: ArrayRecordDataset([b(), a()]).shuffle(),
            "empty": lambda: ArrayRecordDataset(written("empty", 0, 0, 1)),
        }

    def test_given_files_then_their_records_come_in_order(self) -> None:
        assert drain(ArrayRecordDataset([a(), b()])) == [record(i) for i in range(160)]

    def test_given_a_shuffle_then_it_keeps_numbers_and_gives_the_same_stream(self) -> None:
        ds = ArrayRecordDataset([a(), b()]).shuffle(40, seed=1)
        assert "reorders row numbers of ArrayRecordDataset" in str(ds.explain())
        assert drain(ds) == drain(ds.with_options(ps.Options(optimize=False)))
        assert sorted(drain(ds)) == sorted(record(i) for i in range(160))

    @pytest.mark.parametrize("rows", [1, 7, 64])
    def test_given_a_damaged_record_then_only_it_fails(self, rows: int, tmp_path: Path) -> None:
        bad = tmp_path / "bad"
        writer = library.ArrayRecordWriter(str(bad), "group_size:1,uncompressed")
        for i in range(100):
            writer.write(record(i))
        writer.close()
        data = bytearray(bad.read_bytes())
        data[data.index(record(41))] ^= 255
        bad.write_bytes(data)
        got = events(ArrayRecordDataset(bad), limit=200, block_rows=rows)
        assert got == [FAILED if i == 41 else record(i) for i in range(100)]
        with pytest.raises(ps.errors.DataError, match=r"bad: record 41 cannot be read.*hash") as caught:
            list(ArrayRecordDataset(bad))
        assert caught.value.file == str(bad)
        with pytest.raises(ps.errors.StoreError, match=r"bad: one of the records cannot be read"):
            list(ArrayRecordDataset(bad).shuffle())

    def test_given_no_such_file_then_the_error_names_it(self, tmp_path: Path) -> None:
        with pytest.raises(ps.errors.StoreError, match=r"missing: No such file"):
            list(ArrayRecordDataset(tmp_path / "missing"))
        (tmp_path / "text").write_bytes(b"a text" * 20_000)
        with pytest.raises(ps.errors.DataError, match=r"text: expected an ArrayRecord file: "):
            list(ArrayRecordDataset(tmp_path / "text"))

    def test_given_large_records_then_a_block_stops_at_its_bytes(self) -> None:
        path = FOLDER / "large"
        writer = library.ArrayRecordWriter(str(path), "group_size:1")
        for i in range(40):
            writer.write(bytes([i]) * (100 if i < 20 else 100_000))
        writer.close()
        with ArrayRecordDataset(path).iterate(memory="4MiB") as it:
            assert [one[0] for one in it] == list(range(40))
            assert it._run.ledger.peak <= 4 << 20

    def test_given_a_dataset_of_names_then_declaring_fails_and_names_the_line(self) -> None:
        with pytest.raises(TypeError, match=r"filenames=\) at .*test_array_record\.py:\d+.*got a dataset"):
            ArrayRecordDataset(ps.Dataset.from_tensor_slices([a()]))
