"""`ps.TFRecordDataset`."""

from __future__ import annotations

import atexit
import contextlib
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.frames import framed, offsets, packed
from contract.op_contract import OpContract
from contract.streams import FAILED, events
from penstock.io.stores.local import LocalFile
from penstock.sources import TFRecordDataset

FOLDER = tempfile.TemporaryDirectory(prefix="penstock-tfrecord-")
atexit.register(FOLDER.cleanup)


def record(file: int, number: int) -> bytes:
    """A record that tells where it is from, of some length."""
    return f"{file}.{number} ".encode() * (1 + number * 7 % 40)


def made(*sizes: int, compression: str | None = None) -> list[str]:
    """Files of so many records each."""
    names = []
    for file, size in enumerate(sizes):
        path = Path(FOLDER.name) / f"{compression}-{file}-{size}"
        if not path.exists():
            path.write_bytes(packed(framed(*(record(file, i) for i in range(size))), compression))
        names.append(str(path))
    return names


def large() -> list[str]:
    path = Path(FOLDER.name) / "large"
    if not path.exists():
        path.write_bytes(framed(*(bytes([i]) * 60_000 for i in range(30))))
    return [str(path)]


def index_of(name: Path) -> Path:
    return name.with_name(f".{name.name}.penstock-index")


class TestTFRecord(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        return {
            "one": lambda: TFRecordDataset(made(40)[0]),
            "several": lambda: TFRecordDataset(made(40, 0, 3, 70)),
            "gzip": lambda: TFRecordDataset(made(40, 3, compression="GZIP"), "GZIP"),
            "zstd": lambda: TFRecordDataset(made(40, 3, compression="ZSTD"), "ZSTD"),
            "in turn": lambda: TFRecordDataset(made(40, 0, 3, 70), num_parallel_reads=3),
            "names": lambda: TFRecordDataset(ps.Dataset.from_tensor_slices(made(40, 3))),
            "large": lambda: TFRecordDataset(large()).map(len),
            "batched": lambda: TFRecordDataset(made(40, 3), num_parallel_reads=2).batch(4),
            "shuffled": lambda: TFRecordDataset(made(40, 0, 3, 70)).shuffle(),
            "shuffled some": lambda: TFRecordDataset(made(40, 0, 3, 70)).shuffle(10),
            "shuffled lengths": lambda: TFRecordDataset(made(40, 3)).map(len).shuffle(),
            "sharded": lambda: TFRecordDataset(made(40, 0, 3, 70)).shard(3, 1),
            "skipped": lambda: TFRecordDataset(made(40, 0, 3, 70)).skip(41),
        }

    @pytest.mark.parametrize(
        "given", ["text", "bytes", "path", "list", "paths", "array", "dataset", "bytes dataset"]
    )
    def test_given_names_in_any_form_then_their_records_come_in_order(self, given: str) -> None:
        names = made(3, 2)
        forms: dict[str, Any] = {
            "text": names[0],
            "bytes": names[0].encode(),
            "path": Path(names[0]),
            "list": names,
            "paths": [Path(name) for name in names],
            "array": np.array([names]),
            "dataset": ps.Dataset.from_tensor_slices(names),
            "bytes dataset": ps.Dataset.from_tensor_slices(names).map(str.encode),
        }
        several = given not in ("text", "bytes", "path")
        expected = [record(0, i) for i in range(3)] + [record(1, i) for i in range(2)] * several
        assert list(TFRecordDataset(forms[given])) == expected
        assert list(TFRecordDataset(forms[given], num_parallel_reads=1)) == expected

    @pytest.mark.parametrize("rows", [None, 1, 3])
    def test_given_parallel_reads_then_files_take_turns_record_by_record(self, rows: int | None) -> None:
        ds = TFRecordDataset(made(1, 3, 2), num_parallel_reads=2)
        got = list(ds.with_options(ps.Options(block_rows=rows)))
        turns = [(0, 0), (1, 0), (1, 1), (2, 0), (1, 2), (2, 1)]
        assert got == [record(*turn) for turn in turns]

    def test_given_a_dataset_then_its_spec_is_known_and_nothing_is_opened(self, tmp_path: Path) -> None:
        for reads in (None, 2):
            ds = TFRecordDataset(tmp_path / "not there", num_parallel_reads=reads)
            assert ds.element_spec == ps.TensorSpec((), bytes)
            assert ds.cardinality() == ps.UNKNOWN

    @pytest.mark.parametrize("reads", [None, 1])
    def test_given_damage_then_only_what_is_damaged_is_lost(self, tmp_path: Path, reads: int | None) -> None:
        wrong, cut = bytearray(framed(b"a", b"b", b"c")), framed(b"d", b"e")[:-1]
        wrong[17 + 12] ^= 1
        (tmp_path / "wrong").write_bytes(wrong)
        (tmp_path / "cut").write_bytes(cut)
        (tmp_path / "good").write_bytes(framed(b"f"))
        names = [tmp_path / name for name in ("wrong", "cut", "good")]
        ds = TFRecordDataset(names, num_parallel_reads=reads)
        assert events(ds) == [b"a", FAILED, b"c", b"d", FAILED, b"f"]
        assert list(ds.ignore_errors()) == [b"a", b"c", b"d", b"f"]

    def test_given_a_name_then_messages_have_it(self, tmp_path: Path) -> None:
        (tmp_path / "wrong").write_bytes(b"no record at all")
        ds = TFRecordDataset(tmp_path / "wrong", name="train")
        with pytest.raises(
            ps.errors.DataError, match=r"^train at .*test_tfrecord\.py:\d+: .*wrong, record 0"
        ) as caught:
            list(ds)
        assert caught.value.op == "train"

    @pytest.mark.parametrize(
        "declare, kind, said",
        [
            (lambda: TFRecordDataset(3), TypeError, r"filenames=\)"),
            (lambda: TFRecordDataset([3]), TypeError, r"filenames=\)"),
            (lambda: TFRecordDataset(ps.Dataset.range(3)), TypeError, "dataset of file names"),
            (lambda: TFRecordDataset("x", "gzip"), ValueError, r"compression_type=\)"),
            (lambda: TFRecordDataset("x", buffer_size=-1), ValueError, r"buffer_size=\)"),
            (lambda: TFRecordDataset("x", buffer_size="1"), TypeError, r"buffer_size=\)"),  # type: ignore[arg-type]
            (lambda: TFRecordDataset("x", num_parallel_reads=0), ValueError, r"num_parallel_reads=\)"),
            (lambda: TFRecordDataset("x", name=""), ValueError, r"name=\)"),
        ],
    )
    def test_given_wrong_arguments_then_declaring_fails_and_names_the_line(
        self, declare: Any, kind: type[Exception], said: str
    ) -> None:
        with pytest.raises(kind, match=said) as caught:
            declare()
        assert "test_tfrecord.py:" in str(caught.value)

    def test_given_many_files_at_once_and_a_small_budget_then_the_ledger_stays_below(
        self, tmp_path: Path
    ) -> None:
        names = [tmp_path / str(number) for number in range(40)]
        for name in names:
            with ps.io.TFRecordWriter(name) as writer:
                for number in range(300):
                    writer.write(bytes([number % 256]) * 1000)
        ds = TFRecordDataset(names, num_parallel_reads=40)
        with ds.iterate(memory="2MiB") as it:
            assert sum(1 for _ in it) == 40 * 300
            assert it._run.ledger.peak <= 2 << 20


class TestRandomAccess:
    @pytest.fixture
    def names(self, tmp_path: Path) -> list[Path]:
        names = []
        for file, size in enumerate([30, 0, 50]):
            names.append(tmp_path / str(file))
            names[-1].write_bytes(framed(*(record(file, i) for i in range(size))))
        return names

    @pytest.fixture
    def read(self, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        """The sizes of all reads of files."""
        sizes: list[int] = []
        real = LocalFile.read_into

        def read_into(file: LocalFile, start: int, out: memoryview) -> int:
            sizes.append(len(out))
            return real(file, start, out)

        monkeypatch.setattr(LocalFile, "read_into", read_into)
        return sizes

    RECORDS = [record(0, i) for i in range(30)] + [record(2, i) for i in range(50)]

    def test_given_a_whole_shuffle_then_every_record_comes_once_and_none_is_kept(
        self, names: list[Path]
    ) -> None:
        ds = TFRecordDataset(names).shuffle(seed=3)
        assert "reorders row numbers of TFRecordDataset" in str(ds.explain())
        with ds.iterate(epoch=0) as it:
            got = list(it)
            assert it._run.ledger.account("shuffle").reserved == 0
        assert got != self.RECORDS
        assert sorted(got) == sorted(self.RECORDS)
        assert all(index_of(name).exists() for name in names)

    @pytest.mark.parametrize(
        "ds",
        [lambda ds: ds, lambda ds: ds.shuffle(10), lambda ds: ds.skip(3), lambda ds: ds.shard(2, 0)],
        ids=["all", "shuffle some", "skip", "shard"],
    )
    def test_given_other_ops_then_no_index_is_made_for_them(self, names: list[Path], ds: Any) -> None:
        assert list(ds(TFRecordDataset(names)))
        assert not any(index_of(name).exists() for name in names)

    @pytest.mark.parametrize("arguments", [{"compression_type": "GZIP"}, {"num_parallel_reads": 2}])
    def test_given_files_that_cannot_be_indexed_then_a_whole_shuffle_keeps_rows(
        self, tmp_path: Path, arguments: dict[str, Any]
    ) -> None:
        data = packed(framed(*self.RECORDS), arguments.get("compression_type"))
        (tmp_path / "some").write_bytes(data)
        ds = TFRecordDataset(tmp_path / "some", **arguments).shuffle(seed=3)
        assert "reorders row numbers" not in str(ds.explain())
        assert sorted(ds) == sorted(self.RECORDS)

    def test_given_an_index_then_skip_reads_only_what_comes_after(
        self, names: list[Path], read: list[int]
    ) -> None:
        list(TFRecordDataset(names).shuffle())
        read.clear()
        assert list(TFRecordDataset(names).skip(75)) == self.RECORDS[75:]
        assert sum(read) == sum(16 + len(one) for one in self.RECORDS[75:])

    def test_given_an_index_then_a_shard_reads_only_its_own(self, names: list[Path], read: list[int]) -> None:
        list(TFRecordDataset(names).shuffle())
        read.clear()
        assert list(TFRecordDataset(names).shard(7, 2)) == self.RECORDS[2::7]
        assert sum(read) == sum(16 + len(one) for one in self.RECORDS[2::7])

    def test_given_a_file_that_has_changed_then_it_is_indexed_anew(self, names: list[Path]) -> None:
        ds = TFRecordDataset(names).shuffle()
        assert len(list(ds)) == 80
        names[1].write_bytes(framed(b"new", b"newer"))
        assert sorted(ds) == sorted([*self.RECORDS, b"new", b"newer"])

    @pytest.mark.parametrize("rows", [1, 7, None])
    def test_given_damage_then_a_shuffle_loses_what_is_damaged_and_says_where(
        self, names: list[Path], rows: int | None
    ) -> None:
        data = bytearray(names[0].read_bytes())
        data[offsets(self.RECORDS)[4] + 13] ^= 1
        names[0].write_bytes(data)
        names[2].write_bytes(names[2].read_bytes()[:-1])
        lost = [self.RECORDS[4], self.RECORDS[-1]]
        ds = TFRecordDataset(names).shuffle(seed=5).with_options(ps.Options(block_rows=rows))
        good, errors = [], []
        with ds.iterate(epoch=0) as it:
            while True:
                try:
                    good.append(next(it))
                except ps.errors.DataError as error:
                    errors.append(error)
                except StopIteration:
                    break
        assert sorted(good) == sorted(set(self.RECORDS) - set(lost))
        places = {(error.file, error.offset, error.number) for error in errors}
        last = offsets(self.RECORDS[30:])[-2]
        assert places == {(str(names[0]), offsets(self.RECORDS)[4], 4), (str(names[2]), last, 79)}
        assert len(errors) == 2

    @pytest.mark.parametrize("then", ["shuffle", "skip", "shard"])
    def test_given_damage_then_the_stream_is_that_of_reading_in_order(
        self, names: list[Path], then: str
    ) -> None:
        list(TFRecordDataset(names).shuffle())  # makes the index
        status = names[0].stat()
        data = bytearray(names[0].read_bytes())
        data[offsets(self.RECORDS)[20] + 13] ^= 1
        names[0].write_bytes(data)
        os.utime(names[0], ns=(status.st_atime_ns, status.st_mtime_ns))  # so that the index is good
        ds = TFRecordDataset(names)
        ds = {"shuffle": ds.shuffle(), "skip": ds.skip(10), "shard": ds.shard(2, 0)}[then]
        got = events(ds, 100)
        for name in names:
            index_of(name).unlink()
        assert got == events(ds, 100, optimize=False)
        assert got.count(FAILED) == 1

    THEN: Mapping[str, Callable[[ps.Dataset], ps.Dataset]] = {
        "skip before it": lambda ds: ds.skip(10),
        "skip past it": lambda ds: ds.skip(25),
        "skip past its file": lambda ds: ds.skip(40),
        "skip all": lambda ds: ds.skip(200),
        "its shard": lambda ds: ds.shard(2, 0),
        "another shard": lambda ds: ds.shard(2, 1),
    }

    @pytest.mark.parametrize("place", [3, 13], ids=["a length", "a record"])
    @pytest.mark.parametrize("then", THEN)
    def test_given_damage_then_an_index_does_not_change_what_skip_and_shard_give(
        self, names: list[Path], place: int, then: str
    ) -> None:
        data = bytearray(names[0].read_bytes())
        data[offsets(self.RECORDS)[20] + place] ^= 1
        names[0].write_bytes(data)
        ds = self.THEN[then](TFRecordDataset(names))
        without = events(ds, 100)
        assert without.count(FAILED) == 1
        events(TFRecordDataset(names).shuffle(), 100)
        assert index_of(names[0]).exists()
        assert events(ds, 100) == without

    def test_given_an_index_of_a_shuffle_that_was_left_then_skip_finds_damage_behind_it(
        self, names: list[Path]
    ) -> None:
        data = bytearray(names[0].read_bytes())
        data[13] ^= 1
        names[0].write_bytes(data)
        for seed in range(10):  # in some of these, the damaged one is not among the first
            shuffled = TFRecordDataset(names).shuffle(seed=seed).iterate(epoch=0)
            with shuffled as it, contextlib.suppress(ps.errors.DataError):
                next(it)
        assert events(TFRecordDataset(names).skip(3), 100) == [FAILED, *self.RECORDS[4:]]

    def test_given_an_index_then_patterns_do_not_match_it(self, tmp_path: Path) -> None:
        names = [tmp_path / "train-0", tmp_path / "train-1"]
        for name in names:
            name.write_bytes(framed(b"one", b"two"))
        assert len(list(TFRecordDataset(names).shuffle())) == 4
        assert sorted(tmp_path.glob("train-*")) == names
        for pattern in ("train-*", "*", "**"):
            found = ps.Dataset.list_files(str(tmp_path / pattern), shuffle=False)
            assert [one for one in found if Path(one).is_file()] == [str(name) for name in names]
        ds = TFRecordDataset(ps.Dataset.list_files(str(tmp_path / "train-*"), shuffle=False))
        assert list(ds) == [b"one", b"two"] * 2

    def test_given_an_index_larger_than_the_budget_then_it_stays_on_disk(self, tmp_path: Path) -> None:
        (tmp_path / "many").write_bytes(framed(b"") * 150_000 + framed(b"last"))
        ds = TFRecordDataset(tmp_path / "many").shuffle(seed=2)
        with ds.iterate(memory="1MiB") as it:
            assert sum(len(one) for one in it) == 4
            assert it._run.ledger.peak <= 1 << 20
            assert "reads the index of its files from disk" in str(it.report())

    def test_given_large_records_then_a_gather_is_no_more_than_a_block(self, tmp_path: Path) -> None:
        records = [bytes([i]) * 50_000 for i in range(60)]
        (tmp_path / "large").write_bytes(framed(*records))
        with TFRecordDataset(tmp_path / "large").shuffle(seed=1).iterate(memory="1MiB") as it:
            assert sorted(it) == records
            assert it._run.ledger.peak <= 1 << 20

    def test_given_large_records_after_small_ones_then_a_gather_is_no_more_than_a_block(
        self, tmp_path: Path
    ) -> None:
        records = [b"small"] * 3000 + [bytes([i]) * 50_000 for i in range(60)]
        (tmp_path / "uneven").write_bytes(framed(*records))
        list(TFRecordDataset(tmp_path / "uneven").shuffle())  # makes the index
        with TFRecordDataset(tmp_path / "uneven").skip(1).iterate(memory="1MiB") as it:
            assert list(it) == records[1:]
            assert it._run.ledger.peak <= 1 << 20

    def test_given_a_missing_file_then_a_shuffle_says_so(self, tmp_path: Path) -> None:
        with pytest.raises(ps.errors.StoreError, match="not there"):
            list(TFRecordDataset(tmp_path / "not there").shuffle())


def test_given_a_dataset_of_names_with_options_then_they_are_kept(tmp_path: Path) -> None:
    names = ps.Dataset.from_tensor_slices([str(tmp_path / "none")]).with_options(ps.Options(memory="32MiB"))
    assert ps.TFRecordDataset(names).options().memory == "32MiB"
