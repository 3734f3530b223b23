"""Formats over files that are not on this machine: everything is read by ranges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import drain, same
from penstock.io.formats.stored_source import StoredSource
from penstock.io.stores.local import LocalFile
from penstock.io.stores.stored import Stored
from penstock.sources import ArrowDataset, NpyDataset, ParquetDataset


class Elsewhere(Stored):
    """A file of a store: nobody can map it, or open it by its name."""

    def __init__(self, path: str, _: Any = None) -> None:
        self._file = LocalFile(path)
        self.path, self.size, self.stamp = path, self._file.size, self._file.stamp

    def read_into(self, start: int, out: memoryview) -> int:
        return self._file.read_into(start, out)

    def close(self) -> None:
        self._file.close()


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("arrow_source", "arrow_ipc", "npy_file"):
        monkeypatch.setattr(f"penstock.io.formats.{module}.open_stored", Elsewhere)


def test_given_a_position_then_reading_goes_on_from_there(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"0123456789")
    stored = LocalFile(str(path))
    source = StoredSource(stored)
    assert (source.read(3), source.tell()) == (b"012", 3)
    assert (source.seek(-2, 2), source.read(), source.read(1)) == (8, b"89", b"")
    assert (source.seek(4), source.seek(1, 1), source.read(2)) == (4, 5, b"56")
    source.close()
    assert stored.read(0, 2) == b"01"  # it is not the source's own
    StoredSource(stored, owns=True).close()
    with pytest.raises(ps.errors.StoreError):
        stored.read(0, 2)


@pytest.mark.usefixtures("elsewhere")
def test_given_tables_of_a_store_then_their_rows_come(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    table = pa.table({"x": np.arange(500), "s": [f"{i}" for i in range(500)]})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=90)
    with pa.ipc.new_file(str(tmp_path / "t.arrow"), table.schema) as file:
        file.write_table(table, 80)
    with pa.ipc.new_stream(str(tmp_path / "t.stream"), table.schema) as stream:
        stream.write_table(table, 80)
    expected = drain(ps.Dataset.from_arrow(table), limit=500)
    assert same(drain(ParquetDataset(tmp_path / "t.parquet"), limit=500), expected)
    assert same(drain(ArrowDataset([tmp_path / "t.arrow"]), limit=500), expected)
    assert same(drain(ArrowDataset([tmp_path / "t.stream"]), limit=500), expected)


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("packed", [False, True])
def test_given_arrays_of_a_store_then_their_rows_come_in_order_and_by_number(
    packed: bool, tmp_path: Path
) -> None:
    arrays = {"x": np.arange(600, dtype=">i4").reshape(100, 6), "y": np.arange(100.0)}
    (np.savez_compressed if packed else np.savez)(tmp_path / "a.npz", **arrays)  # type: ignore[arg-type]
    native = {name: array.astype(array.dtype.newbyteorder("=")) for name, array in arrays.items()}
    slices = ps.Dataset.from_tensor_slices(native)
    ds = NpyDataset(tmp_path / "a.npz")
    assert same(drain(ds), drain(slices))
    assert same(drain(ds.shuffle(30, seed=2)), drain(slices.shuffle(30, seed=2)))


@pytest.mark.usefixtures("elsewhere")
def test_given_an_array_of_a_store_in_columns_then_the_error_says_what_to_do(tmp_path: Path) -> None:
    np.save(tmp_path / "f.npy", np.asfortranarray(np.ones((4, 5))))
    with pytest.raises(ps.errors.DataError, match=r"f\.npy at byte \d+: .*Save it in C order"):
        list(NpyDataset(tmp_path / "f.npy"))
