"""`load`: what was saved, mapped from its files."""

from __future__ import annotations

import atexit
import gc
import json
import pickle
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract, drain, same
from contract.processes import printed_by
from contract.saved_rows import Point, every_kind
from contract.streams import FAILED, events
from engine.leftovers import descriptors
from penstock.blocks.structure import structure_of
from penstock.errors import ArgumentError, ArgumentTypeError
from penstock.io.formats.saved_file import Checked, SavedFile

FOLDER = Path(tempfile.mkdtemp(prefix="penstock-load-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
MIB = 1 << 20


def saved(name: str, make: Callable[[], ps.Dataset], **how: Any) -> str:
    folder = FOLDER / name
    if not folder.exists():
        make().save(folder, **how)
    return str(folder)


def kinds() -> str:
    return saved("kinds", every_kind, shard_bytes="5KiB")


def numbers() -> str:
    return saved("numbers", lambda: ps.Dataset.range(250), shard_bytes="1KiB")


def widths() -> ps.Dataset:
    return ps.Dataset.range(200).map(
        lambda i: {"i": i, "x": np.full(int(i) // 60, i), "t": "t" * (int(i) % 9)}
    )


def layouts() -> str:
    """Rows of one width in some blocks, and of several in others."""
    return saved("layouts", lambda: widths().with_options(ps.Options(block_rows=10)), shard_bytes="2KiB")


class TestLoad(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        return {
            "numbers": lambda: ps.Dataset.load(numbers()),
            "every kind": lambda: ps.Dataset.load(kinds()),
            "unverified": lambda: ps.Dataset.load(kinds(), verify=False),
            "shuffled": lambda: ps.Dataset.load(kinds()).shuffle(50),
            "shuffled whole": lambda: ps.Dataset.load(kinds()).shuffle(),
            "several layouts": lambda: ps.Dataset.load(layouts()),
            "several layouts, shuffled": lambda: ps.Dataset.load(layouts()).shuffle(),
            "sharded": lambda: ps.Dataset.load(kinds()).shard(3, 1),
            "empty": lambda: ps.Dataset.load(saved("empty", lambda: ps.Dataset.range(0))),
            "batches": lambda: ps.Dataset.load(numbers()).batch(7),
        }

    def test_given_every_kind_of_leaf_then_elements_come_back_as_they_were(self) -> None:
        expected = list(every_kind())
        assert same(drain(ps.Dataset.load(kinds())), expected)
        assert same(drain(ps.Dataset.load(kinds()), memory="64KiB"), expected)  # in parts of blocks
        assert isinstance(expected[0]["when"], Point)

    @pytest.mark.parametrize("memory", ["50KiB", "200KiB", "64MiB"])
    def test_when_shuffled_then_the_order_is_that_over_arrays_and_only_numbers_are_kept(
        self, memory: str
    ) -> None:
        rows = list(every_kind())
        order = drain(ps.Dataset.range(len(rows)).shuffle(seed=3))
        ds = ps.Dataset.load(kinds()).shuffle(seed=3)
        assert "reorders row numbers of load" in str(ds.explain())
        assert same(drain(ds, memory=memory), [rows[i] for i in order])

    @pytest.mark.parametrize("memory", ["50KiB", "200KiB", "64MiB"])
    def test_given_blocks_of_several_layouts_then_rows_come_by_number_too(self, memory: str) -> None:
        rows = drain(widths())
        assert same(drain(ps.Dataset.load(layouts())), rows)
        for element in drain(ps.Dataset.load(layouts()).shuffle(seed=1), memory=memory):
            assert same(element, rows[element["i"]])
        found = set()
        for path in Path(layouts()).glob("*.blocks"):
            file = SavedFile(path, structure_of(rows[0]), Checked(), verify=True)
            found |= {layout[1].kind for layout in file.index.layouts}
            file.close()
        assert found == {"dense", "ragged"}

    def test_given_more_files_than_may_be_open_then_rows_come_by_number_all_the_same(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("penstock.io.formats.saved_gather.FILES", 2)
        monkeypatch.setattr("penstock.ops.parts.saved_files.OPEN", 2)
        assert len(list(Path(kinds()).glob("*.blocks"))) > 5
        rows = list(every_kind())
        before = descriptors()
        for memory in ("50KiB", "64MiB"):
            with ps.Dataset.load(kinds()).shuffle(seed=3).iterate(memory=memory) as it:
                for element in it:
                    assert same(element, rows[element["number"]])
                    assert len(descriptors() - before) <= 2

    def test_given_blocks_larger_than_those_of_the_run_then_they_come_in_parts(self) -> None:
        large = saved("large", lambda: ps.Dataset.range(400).map(lambda i: np.full(1000, i)), memory="64MiB")
        with ps.Dataset.load(large).iterate(memory="1MiB") as it:
            assert [int(row[-1]) for row in it] == list(range(400))
            assert it._run.ledger.peak + it._run.ledger.lent_peak < 1 << 20

    def test_when_declared_then_the_spec_and_the_length_are_known(self) -> None:
        ds = ps.Dataset.load(kinds())
        assert len(ds) == 200
        spec = ds.element_spec
        assert spec["ragged"] == ps.TensorSpec((None, 2), np.uint16)
        assert spec["words"] == ps.TensorSpec((3,), str)
        assert spec["when"] == Point(ps.TensorSpec((), "M8[ns]"), ps.TensorSpec((), "m8[h]"))

    def test_given_a_spec_that_was_declared_then_it_stays_as_it_was(self) -> None:
        ds = ps.Dataset.range(10).batch(4)
        assert ps.Dataset.load(saved("batches", lambda: ds)).element_spec == ds.element_spec

    def test_when_read_in_order_then_elements_are_read_only_and_by_number_they_are_not(self) -> None:
        for row in ps.Dataset.load(kinds()):
            assert not row["dense"].flags.writeable
        for row in ps.Dataset.load(kinds()).shuffle():
            row["dense"][:] = 0
        assert same(drain(ps.Dataset.load(kinds())), list(every_kind()))

    def test_when_many_elements_are_kept_then_no_descriptor_is(self) -> None:
        wide = saved("wide", lambda: ps.Dataset.range(40).map(lambda i: np.full(100_000, i)), memory="16MiB")
        before = descriptors()
        kept = list(ps.Dataset.load(wide))
        assert descriptors() <= before
        assert [int(row[99_999]) for row in kept] == list(range(40))

    def test_when_the_last_view_is_dropped_then_the_file_is_no_longer_mapped(self) -> None:
        kept = list(ps.Dataset.load(kinds()))
        assert mapped(kinds()) > 0
        del kept
        gc.collect()
        assert mapped(kinds()) == 0

    def test_given_a_damaged_block_then_the_others_come(self, tmp_path: Path) -> None:
        ps.Dataset.range(250).save(tmp_path / "bad", shard_bytes="1KiB")
        second = sorted((tmp_path / "bad").glob("*.blocks"))[1]
        data = bytearray(second.read_bytes())
        data[130] ^= 1
        second.write_bytes(data)
        got = events(ps.Dataset.load(tmp_path / "bad"), limit=1000)
        lost = [i for i in range(250) if i not in got]
        assert got.count(FAILED) == 1
        assert len(got) - 1 + len(lost) == 250
        assert lost == list(range(lost[0], lost[-1] + 1))
        assert got.index(FAILED) == lost[0]

    def test_given_a_block_that_was_checked_then_it_is_not_summed_again(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sums: list[int] = []
        real = SavedFile._sum
        monkeypatch.setattr(SavedFile, "_sum", lambda self, number: sums.append(number) or real(self, number))
        ds = ps.Dataset.load(kinds())
        drain(ds)
        once = len(sums)
        drain(ds)
        drain(ds.shuffle())
        assert len(sums) == once > 3
        drain(pickle.loads(pickle.dumps(ds)))
        assert len(sums) == 2 * once
        drain(ps.Dataset.load(kinds(), verify=False))
        assert len(sums) == 2 * once

    def test_given_no_saved_dataset_then_declaring_says_what_to_do(self, tmp_path: Path) -> None:
        with pytest.raises(
            ArgumentError, match=r"load at .*test_load.py:\d+: .*has no manifest.json.*ds.save"
        ):
            ps.Dataset.load(tmp_path)
        with pytest.raises(ArgumentTypeError, match=r"load\(directory=\) at .*expected the path of a folder"):
            ps.Dataset.load(3)
        with pytest.raises(ArgumentError, match=r"a folder of this machine.*'s3://bucket/x'"):
            ps.Dataset.load("s3://bucket/x")
        with pytest.raises(ArgumentTypeError, match=r"load\(verify=\)"):
            ps.Dataset.load(kinds(), verify=1)  # type: ignore[arg-type]

    def test_given_a_manifest_of_something_else_then_declaring_says_what_it_lacks(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "manifest.json").write_text('{"name": "my app"}')
        with pytest.raises(ps.errors.StoreError, match=r"expected the manifest.* but it has no 'format'"):
            ps.Dataset.load(tmp_path)
        with pytest.raises(ps.errors.StoreError, match=r"expected the manifest.* but it has no 'format'"):
            ps.Dataset.from_tensor_slices({"x": [1]}).write_tfrecord(tmp_path)

    @pytest.mark.parametrize("shuffle, left", [("", 1_200_000), (".shuffle(seed=1)", 1000)])
    def test_given_a_mapped_file_that_becomes_shorter_then_it_is_an_error_and_not_the_end_of_the_process(
        self, shuffle: str, left: int, tmp_path: Path
    ) -> None:
        ps.Dataset.range(1 << 18).save(tmp_path / "kept")
        code = f"""
import os, pathlib, penstock as ps
(path,) = pathlib.Path("kept").glob("*.blocks")
ds = ps.Dataset.load("kept"){shuffle}
list(ds.batch(1 << 12))
it = iter(ds)
next(it)
os.truncate(path, {left})
try:
    list(it)
except (ps.errors.DataError, ps.errors.StoreError) as error:
    print(error)
"""
        printed = printed_by(code, tmp_path)
        assert f"at byte {left}: the file has become shorter while it was read" in printed

    def test_given_a_file_that_has_gone_then_the_error_names_it_and_the_line(self, tmp_path: Path) -> None:
        (gone,) = ps.Dataset.range(3).save(tmp_path).shards
        ds = ps.Dataset.load(tmp_path)
        Path(gone).unlink()
        for one in (ds, ds.shuffle(3)):
            with pytest.raises(
                ps.errors.StoreError, match=r"^load at .*No such file.*Save it again"
            ) as caught:
                list(one)
            assert caught.value.file == gone

    def test_given_a_named_tuple_that_no_module_has_then_the_dataset_pickles(self, tmp_path: Path) -> None:
        from collections import namedtuple

        here = namedtuple("here", "a b")
        ps.Dataset.range(3).map(lambda x: here(x, x)).save(tmp_path)
        ds = ps.Dataset.load(tmp_path)
        assert ds.element_spec._fields == ("a", "b")
        assert [tuple(pair) for pair in pickle.loads(pickle.dumps(ds))] == [(0, 0), (1, 1), (2, 2)]

    @pytest.mark.slow
    @pytest.mark.parametrize("how", ["in order", "by number"])
    def test_given_500_mebibytes_and_a_budget_of_64_then_it_holds_from_outside(
        self, how: str, tmp_path: Path
    ) -> None:
        words = [sys.executable, "-c", SCRIPT, str(tmp_path), how]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr
        figures = json.loads(done.stdout)
        assert figures["sum"] == sum(i % 251 for i in range(5000)) * 100_000
        assert figures["save"] <= 64 * MIB * 1.1 + 24 * MIB, figures
        assert figures["load"] <= 64 * MIB * 1.1 + 24 * MIB, figures


SCRIPT = """
import gc, json, sys
from pathlib import Path
import numpy as np
import penstock as ps

def kib(word):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(word)) << 10

def over_idle(work):
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    idle = kib("VmRSS")
    return work(), kib("VmHWM") - idle

def load():
    ds = ps.Dataset.load(sys.argv[1])
    ds = (ds.shuffle() if sys.argv[2] == "by number" else ds).batch(32)
    with ds.iterate(memory="64MiB") as it:
        return sum(int(batch["x"].sum()) for batch in it)

ds = ps.Dataset.range(5000).map(lambda i: {"x": np.full(100_000, i % 251, np.uint8), "i": i})
_, save = over_idle(lambda: ds.save(sys.argv[1], memory="64MiB"))
total, load = over_idle(load)
print(json.dumps({"sum": total, "save": save, "load": load}))
"""


def mapped(folder: str) -> int:
    """How many mappings of files in a folder the process has."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    return sum(folder in line for line in lines)


def test_given_files_of_write_tfrecord_then_the_error_says_what_reads_them(tmp_path: Path) -> None:
    ps.Dataset.range(5).map(lambda x: {"x": x}).write_tfrecord(tmp_path, shards=1)
    with pytest.raises(ps.errors.StoreError, match=r"ps\.TFRecordDataset") as caught:
        ps.Dataset.load(tmp_path)
    names = [str(name) for name in ps.Dataset.list_files(f"{tmp_path}/*.tfrecord*")]
    assert f'list_files("{tmp_path}/*.tfrecord*")' in str(caught.value)
    assert len(list(ps.TFRecordDataset(names))) == 5
