"""`ps.NpyDataset`."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract, drain, same
from contract.processes import printed_by
from contract.streams import FAILED, events
from penstock.sources import NpyDataset

FOLDER = Path(tempfile.mkdtemp(prefix="penstock-npy-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)


def npy(name: str, array: Any) -> str:
    path = FOLDER / f"{name}.npy"
    if not path.exists():
        np.save(path, array)
    return str(path)


def npz(name: str, packed: bool = False, **arrays: Any) -> str:
    path = FOLDER / f"{name}.npz"
    if not path.exists():
        (np.savez_compressed if packed else np.savez)(path, **arrays)
    return str(path)


def images(first: int = 0, count: int = 40) -> Any:
    return np.arange(first * 12, (first + count) * 12, dtype=np.int32).reshape(count, 3, 4)


PAIR = {"x": images(), "y": np.arange(40) % 3, "s": np.array([f"{i}" for i in range(40)])}


def a() -> str:
    return npy("a", images())


def b() -> str:
    return npy("b", images(40, 25))


def plain_archive() -> str:
    return npz("plain", **PAIR)


def packed_archive() -> str:
    return npz("packed", packed=True, **PAIR)


class TestNpy(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        return {
            "one file": lambda: NpyDataset(a()),
            "several files": lambda: NpyDataset([a(), b(), a()]),
            "shuffled": lambda: NpyDataset([a(), b(), a()]).shuffle(50),
            "shuffled whole": lambda: NpyDataset([a(), b()]).shuffle(),
            "archive": lambda: NpyDataset(plain_archive()),
            "archive, shuffled": lambda: NpyDataset(plain_archive(), arrays=["y", "x"]).shuffle(7),
            "packed": lambda: NpyDataset(packed_archive()),
            "packed, shuffled": lambda: NpyDataset([packed_archive(), plain_archive()]).shuffle(60),
            "fortran": lambda: NpyDataset(npy("fortran", np.asfortranarray(images()))).shuffle(9),
            "no rows": lambda: NpyDataset(npy("empty", np.zeros((0, 3)))),
        }

    @pytest.mark.parametrize(
        "array",
        [
            np.arange(30),
            images(),
            np.asfortranarray(images()),
            np.arange(30, dtype=">i4"),
            np.linspace(0, 1, 24).reshape(6, 2, 2).astype(">f8"),
            np.array([b"a", b"bcd", b""]),
            np.array(["a", "äö", ""]),
            np.array([True, False]),
            np.array(["2020-02-29", "1970-01-01"], "datetime64[D]"),
            np.array([(1, 2.5), (3, 4.5)], [("a", "i4"), ("b", "f8")]),
            np.zeros((3, 0)),
        ],
        ids=lambda array: f"{array.dtype}{list(array.shape)}",
    )
    def test_given_an_array_then_its_rows_come_in_order_and_by_number(
        self, array: Any, tmp_path: Path
    ) -> None:
        path = tmp_path / "x.npy"
        np.save(path, array)
        native = array.astype(array.dtype.newbyteorder("="))
        expected = list(ps.Dataset.from_tensor_slices(native))
        assert same(drain(NpyDataset(path)), expected)
        shuffled = drain(ps.Dataset.from_tensor_slices(native).shuffle(4, seed=3))
        assert same(drain(NpyDataset(path).shuffle(4, seed=3)), shuffled)

    @pytest.mark.parametrize("path", [plain_archive, packed_archive])
    def test_given_an_archive_then_rows_are_dicts_of_its_arrays(self, path: Callable[[], str]) -> None:
        assert same(drain(NpyDataset(path())), drain(ps.Dataset.from_tensor_slices(PAIR)))
        chosen = drain(NpyDataset(path(), arrays=["y"]))
        assert same(chosen, [{"y": y} for y in PAIR["y"]])

    @pytest.mark.parametrize("path", [a, plain_archive, packed_archive])
    def test_given_a_shuffle_then_it_keeps_numbers_and_gives_the_same_stream(
        self, path: Callable[[], str]
    ) -> None:
        ds = NpyDataset([path(), path()]).shuffle(30, seed=5)
        assert "reorders row numbers of NpyDataset" in str(ds.explain())
        assert same(drain(ds), drain(ds.with_options(ps.Options(optimize=False))))

    def test_given_an_array_beyond_the_budget_then_its_rows_come_all_the_same(self) -> None:
        array = np.arange(1 << 20, dtype=np.int64).reshape(1 << 10, -1)  # 8 MiB, and a budget of 2
        path = npy("large", array)
        sums = array.sum(axis=1)
        with NpyDataset(path).iterate(memory="2MiB") as it:
            assert [int(row.sum()) for row in it] == sums.tolist()
            assert it._run.ledger.peak <= 2 << 20
        with NpyDataset(path).shuffle().iterate(memory="2MiB") as it:
            assert sorted(int(row.sum()) for row in it) == sums.tolist()
            assert it._run.ledger.peak <= 2 << 20

    @pytest.mark.parametrize("shuffle", ["", ".shuffle(seed=1)"])
    def test_given_a_mapped_file_that_becomes_shorter_then_it_is_an_error_and_not_the_end_of_the_process(
        self, shuffle: str, tmp_path: Path
    ) -> None:
        np.save(tmp_path / "x.npy", np.arange(1 << 18))
        code = f"""
import os, penstock as ps
it = iter(ps.NpyDataset("x.npy"){shuffle})
next(it)
os.truncate("x.npy", 1000)
try:
    list(it)
except (ps.errors.DataError, ps.errors.StoreError) as error:
    print(error)
"""
        printed = printed_by(code, tmp_path)
        assert "x.npy at byte 1000: the file has become shorter while it was read" in printed

    def test_given_rows_that_are_written_to_then_the_file_stays_as_it_is(self) -> None:
        for row in NpyDataset(a()):
            row += 1
        assert same(drain(NpyDataset(a())), list(images()))

    @pytest.mark.parametrize(
        "change, words",
        [
            (lambda data: b"no array at all, just a text", "expected a NumPy array, got b'no array'"),
            (lambda data: data[:9], "expected a NumPy array"),
            (lambda data: data[:40], "cut off within its header"),
            (lambda data: data[:-1], "expected 1920 bytes .*cut off"),
            (lambda data: data.replace(b"'descr'", b"'decsr'"), "header of an array, got a damaged one"),
            (lambda data: data[:6] + b"\x09" + data[7:], "version 1 to 3"),
        ],
    )
    def test_given_a_damaged_file_then_the_error_names_it_and_the_next_one_is_read(
        self, change: Callable[[bytes], bytes], words: str, tmp_path: Path
    ) -> None:
        bad = tmp_path / "bad.npy"
        bad.write_bytes(change(Path(a()).read_bytes()))
        with pytest.raises(ps.errors.DataError, match=rf"bad\.npy at byte \d+: .*{words}") as caught:
            list(NpyDataset(bad))
        assert caught.value.file == str(bad)
        got = events(NpyDataset([bad, b()]))
        assert got == [FAILED, *images(40, 25).tolist()]

    def test_given_a_packed_archive_with_damage_then_the_error_names_the_array(self, tmp_path: Path) -> None:
        bad = tmp_path / "bad.npz"
        np.savez_compressed(bad, x=np.random.default_rng(1).random(100_000))
        data = bytearray(bad.read_bytes())
        data[400_000:400_010] = bytes(10)
        bad.write_bytes(data)
        with pytest.raises(ps.errors.DataError, match=r"bad\.npz.*the array 'x' is damaged"):
            list(NpyDataset(bad))
        with pytest.raises(ps.errors.StoreError, match=r"'x' is damaged.*cannot go on after it") as caught:
            list(NpyDataset(bad).shuffle(3))
        assert caught.value.file == str(bad)

    def test_given_a_packed_archive_that_becomes_shorter_then_the_error_names_the_array(
        self, tmp_path: Path
    ) -> None:
        path = tmp_path / "x.npz"
        np.savez_compressed(path, x=np.random.default_rng(1).random(1 << 18))
        it = iter(NpyDataset(path))
        next(it)
        os.truncate(path, 300_000)
        with pytest.raises(ps.errors.DataError, match=r"x\.npz.*the array 'x' is cut off"):
            list(it)

    def test_given_arrays_that_do_not_go_together_then_the_error_says_so(self) -> None:
        uneven = npz("uneven", x=np.arange(3), y=np.arange(4), z=np.float32(1))
        with pytest.raises(ps.errors.DataError, match=r"one length, got {'x': 3, 'y': 4}.*arrays=\[\.\.\.\]"):
            list(NpyDataset(uneven, arrays=["x", "y"]))
        with pytest.raises(ps.errors.DataError, match=r"the single value 'z'"):
            list(NpyDataset(uneven))
        with pytest.raises(ps.errors.DataError, match=r"expected the array 'w', got a file with \['x', 'y'"):
            list(NpyDataset(uneven, arrays=["w"]))
        with pytest.raises(ps.errors.DataError, match=r"float\.npy: expected rows like those before.*int32"):
            list(NpyDataset([a(), npy("float", images().astype(float))]))
        objects = npy("objects", np.array([None, 1]))
        with pytest.raises(ps.errors.DataError, match=r"expected numbers or strings, got pickled objects"):
            list(NpyDataset(objects))

    @pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
    def test_given_chosen_arrays_then_the_others_may_be_of_any_kind(self, tmp_path: Path, save: Any) -> None:
        path = tmp_path / "mixed.npz"
        save(path, x=np.arange(3), names=np.array(["a", None]), y=np.arange(3) * 2)
        rows = list(NpyDataset(path, arrays=["y", "x"]))
        assert [list(row.items()) for row in rows] == [[("y", 2 * i), ("x", i)] for i in range(3)]
        with pytest.raises(ps.errors.DataError, match="got pickled objects"):
            list(NpyDataset(path))

    def test_given_a_file_without_rows_or_names_then_the_error_says_so(self, tmp_path: Path) -> None:
        with pytest.raises(ps.errors.DataError, match="expected an array with rows, got a single value"):
            list(NpyDataset(npy("single", np.float32(3))))
        with pytest.raises(ps.errors.DataError, match=r"a single array without a name. Leave arrays="):
            list(NpyDataset(a(), arrays=["x"]))
        np.savez(tmp_path / "empty.npz")
        with pytest.raises(ps.errors.DataError, match="expected arrays, got an archive without any"):
            list(NpyDataset(tmp_path / "empty.npz"))

    def test_given_wrong_arguments_then_declaring_fails_and_names_the_line(self) -> None:
        here = r"at .*test_npy\.py:\d+"
        with pytest.raises(TypeError, match=rf"NpyDataset\(arrays=\) {here}.*list of names, got 'x'"):
            NpyDataset(a(), arrays="x")
        with pytest.raises(TypeError, match=rf"filenames=\) {here}.*got a dataset.*flat_map"):
            NpyDataset(ps.Dataset.from_tensor_slices([a()]))

    def test_given_many_files_then_few_are_open_at_a_time(self) -> None:
        paths = [npy(f"many{i}", np.full(3, i)) for i in range(60)]
        got = sorted(int(row) for row in NpyDataset(paths).shuffle())
        assert got == sorted([*range(60)] * 3)
        assert NpyDataset("/nowhere/at-all.npy").cardinality() == ps.UNKNOWN


@pytest.mark.parametrize("packed", [False, True])
def test_given_an_archive_whose_list_is_said_to_begin_later_then_the_error_names_it(packed: bool) -> None:
    path = Path(npz(f"early{packed}", packed, x=np.arange(9)))
    data = bytearray(path.read_bytes())
    place = int.from_bytes(data[-6:-2], "little")  # of the list of members
    data[-6:-2] = (place + 1).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(ps.errors.DataError, match=r"early.*expected the member 'x.npy', got one before"):
        list(NpyDataset([str(path)]))
