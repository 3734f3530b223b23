"""`snapshot`: written by the first complete pass, read by later ones."""

from __future__ import annotations

import atexit
import itertools
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
from contract.saved_rows import every_kind
from contract.streams import FAILED, events, failing
from penstock.errors import ArgumentError, ArgumentTypeError, DataError, StoreError
from penstock.io.stores.writing import LocalWriting

FOLDER = Path(tempfile.mkdtemp(prefix="penstock-snapshot-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
FRESH = itertools.count()
CALLS: list[int] = []
"""Of the module, and not of a function: what a function has taken from another one tells it apart."""


def fresh() -> str:
    return str(FOLDER / str(next(FRESH)))


def counted(x: Any) -> Any:
    CALLS.append(int(x))
    return x


def numbers(folder: str | Path, count: int = 20) -> ps.Dataset:
    return ps.Dataset.range(count).map(counted).snapshot(folder)


def calls() -> list[int]:
    made = sorted(CALLS)
    CALLS.clear()
    return made


@pytest.fixture(autouse=True)
def no_calls() -> None:
    CALLS.clear()


def files(folder: str | Path) -> list[str]:
    return sorted(path.name for path in Path(folder).iterdir())


class TestSnapshot(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        return {
            "numbers": lambda: ps.Dataset.range(250).snapshot(fresh()),
            "every kind": lambda: every_kind().snapshot(fresh()),
            "empty": lambda: ps.Dataset.range(0).snapshot(fresh()),
            "shuffled above": lambda: ps.Dataset.range(100).shuffle(10).snapshot(fresh()),
            "shuffled below": lambda: ps.Dataset.range(100).snapshot(fresh()).shuffle(10),
            "repeated": lambda: ps.Dataset.range(9).snapshot(fresh()).repeat(3),
            "batched": lambda: ps.Dataset.range(100).batch(7).snapshot(fresh()),
            "too long to end": lambda: ps.Dataset.range(1000).snapshot(fresh()),
            "failing": lambda: failing(30, 4, 9).snapshot(fresh()).ignore_errors(),
        }

    def test_given_a_complete_pass_then_later_ones_give_the_same_and_run_nothing_above(
        self, tmp_path: Path
    ) -> None:
        ds = numbers(tmp_path / "s")
        first = drain(ds)
        assert calls() == list(range(20))
        assert same(drain(ds), first)
        assert same(drain(numbers(tmp_path / "s")), first)  # declared again
        assert calls() == []

    def test_given_every_kind_of_leaf_then_both_passes_give_the_same_read_only_elements(
        self, tmp_path: Path
    ) -> None:
        ds = every_kind().snapshot(tmp_path / "s")
        first, second = drain(ds), drain(ds)
        assert same(first, list(every_kind()))
        assert same(second, first)
        assert not any(row["dense"].flags.writeable for row in [*first, *second])

    @pytest.mark.parametrize("count", [0, 1, 19, 20])
    def test_given_a_pass_that_is_broken_out_of_then_nothing_is_left_and_the_next_one_writes(
        self, count: int, tmp_path: Path
    ) -> None:
        ds = numbers(tmp_path / "s")
        with ds.iterate() as it:
            for _ in range(count):
                next(it)
        assert files(tmp_path / "s") == []
        calls()
        assert [int(x) for x in ds] == list(range(20))
        assert calls() == list(range(20))
        assert [int(x) for x in ds] == list(range(20))
        assert calls() == []

    def test_given_a_killed_process_then_its_snapshot_is_not_used_and_written_again(
        self, tmp_path: Path
    ) -> None:
        words = [sys.executable, "-c", KILLED, str(tmp_path / "s")]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == -9, done.stderr
        left = files(tmp_path / "s")
        assert "manifest.json" in left
        assert any(name.endswith(".part") for name in left)
        ds = ps.Dataset.range(20).snapshot(tmp_path / "s")
        with pytest.raises(ArgumentError, match="another pipeline"):
            list(ds)
        ds = ps.Dataset.range(300_000).snapshot(tmp_path / "s")
        assert [int(x) for x in ds] == list(range(300_000))
        again = files(tmp_path / "s")
        assert not any(name.endswith(".part") for name in again)
        assert [int(x) for x in ds] == list(range(300_000))
        assert files(tmp_path / "s") == again

    def test_given_a_snapshot_of_another_process_then_it_is_read(self, tmp_path: Path) -> None:
        code = f"import penstock as ps; list(ps.Dataset.range(5).batch(2).snapshot({str(tmp_path / 's')!r}))"
        subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
        before = files(tmp_path / "s")
        got = drain(ps.Dataset.range(5).batch(2).snapshot(tmp_path / "s"))
        assert same(got, [np.array([0, 1]), np.array([2, 3]), np.array([4])])
        assert files(tmp_path / "s") == before

    def test_given_another_pipeline_in_the_folder_then_the_error_says_what_differs(
        self, tmp_path: Path
    ) -> None:
        drain(numbers(tmp_path / "s"))
        before = files(tmp_path / "s")
        with pytest.raises(
            ArgumentError,
            match=r"snapshot at .*: the folder .* has range\(20\) where this one has range\(21\)",
        ):
            list(numbers(tmp_path / "s", 21))
        assert files(tmp_path / "s") == before

    def test_given_a_folder_with_other_files_then_it_is_refused_and_left_alone(self, tmp_path: Path) -> None:
        (tmp_path / "mine.txt").write_text("x")
        with pytest.raises(ArgumentError, match=r"snapshot at .*: expected an empty folder.*'mine.txt'"):
            list(numbers(tmp_path))
        assert files(tmp_path) == ["mine.txt"]

    def test_given_two_runs_at_once_then_one_writes_and_the_other_passes_on(self, tmp_path: Path) -> None:
        ds = numbers(tmp_path / "s")
        with ds.iterate() as first, ds.iterate() as second:
            got = [(int(a), int(b)) for a, b in zip(first, second, strict=True)]
            assert got == [(i, i) for i in range(20)]
            notes = [note for it in (first, second) for op in it.report().ops for note in op.notes]
        assert notes == ["passes elements on, as another run writes the snapshot"]
        assert len(calls()) == 40
        assert len(drain(ds)) == 20
        assert calls() == []

    def test_given_an_element_that_fails_then_nothing_is_written_and_the_others_come(
        self, tmp_path: Path
    ) -> None:
        ds = failing(6, 2).snapshot(tmp_path / "s")
        for _ in range(2):
            assert events(ds) == [0, 1, FAILED, 3, 4, 5]
            assert files(tmp_path / "s") == []
        with failing(6, 2).snapshot(tmp_path / "s").ignore_errors().iterate() as it:
            assert len(list(it)) == 5
            assert any("writes no snapshot" in note for op in it.report().ops for note in op.notes)

    def test_given_a_damaged_snapshot_then_the_error_says_what_to_delete(self, tmp_path: Path) -> None:
        ds = numbers(tmp_path / "s")
        drain(ds)
        path = next((tmp_path / "s").glob("*.blocks"))
        data = bytearray(path.read_bytes())
        data[129] ^= 1
        path.write_bytes(data)
        with pytest.raises(
            DataError, match=r"does not match its checksum.*Delete the folder .*written again"
        ):
            list(ds)
        shutil.rmtree(tmp_path / "s")
        assert len(drain(ds)) == 20

    def test_given_a_disk_that_fails_then_the_error_says_so_and_nothing_is_left(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = LocalWriting._append

        def full(self: LocalWriting, data: Any) -> None:
            if self.tell() > 64:
                raise OSError(28, "No space left on device")
            real(self, data)

        monkeypatch.setattr(LocalWriting, "_append", full)
        with pytest.raises(StoreError, match=r"No space left on device.*Make room"):
            list(numbers(tmp_path / "s"))
        assert files(tmp_path / "s") == []
        monkeypatch.undo()
        assert len(drain(numbers(tmp_path / "s"))) == 20

    @pytest.mark.parametrize("known", [True, False])
    def test_given_objects_then_the_error_says_what_to_map_to(self, known: bool, tmp_path: Path) -> None:
        ds = ps.Dataset.range(4).window(2) if known else ps.Dataset.from_generator(lambda: iter([None, 3]))
        with pytest.raises(
            ArgumentTypeError, match=r"snapshot at .*which cannot be saved. Map it to numbers"
        ):
            list(ds.snapshot(tmp_path / "s"))
        assert files(tmp_path / "s") == []

    def test_given_a_wrong_folder_then_declaring_says_so(self) -> None:
        with pytest.raises(ArgumentTypeError, match=r"snapshot\(directory=\) at .*got None"):
            ps.Dataset.range(3).snapshot(None)


KILLED = """
import os, signal, sys
import penstock as ps

for i, _ in enumerate(ps.Dataset.range(300_000).snapshot(sys.argv[1])):
    if i == 299_998:
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("had", [0, 3, 9, 10, 12])
def test_given_random_elements_when_a_run_goes_on_that_was_writing_then_all_passes_are_those_of_the_first(
    tmp_path: Path, had: int
) -> None:
    def declared(folder: str) -> ps.Dataset:
        return ps.Dataset.range(10).shuffle(10).snapshot(str(tmp_path / folder)).repeat(3)

    with declared("stopped").iterate(seed=1) as it:
        for _ in range(had):
            next(it)
        state = it.state()
    steady = [int(x) for x in declared("steady").iterate(seed=1)]
    assert [int(x) for x in declared("stopped").iterate(state=state)] == steady[had:]
