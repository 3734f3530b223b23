"""Parquet, Arrow and NumPy files: schemas, ranges, and damage with its place."""

from __future__ import annotations

import zipfile
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest

from cli.inspected import by_name, cut, flip, look, look_one

ROWS = 100
TABLE = pa.table(
    {
        "id": list(range(ROWS)),
        "name": [None if i % 10 == 0 else "n" * (i % 5) for i in range(ROWS)],
        "many": [[0.5] * (i % 3) for i in range(ROWS)],
        "pair": pa.array([[i, -i] for i in range(ROWS)], pa.list_(pa.int32(), 2)),
        "image": [b"\x89PNG\r\n\x1a\n" + bytes(20)] * ROWS,
        "when": pa.array([i * 1_000_000 for i in range(ROWS)], pa.timestamp("us")),
    }
)


def write_parquet(path: Path) -> None:
    pq.write_table(TABLE, path, row_group_size=30, write_page_checksum=True)


def write_file(path: Path) -> None:
    with ipc.new_file(path, TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=40)


def write_stream(path: Path) -> None:
    with ipc.new_stream(path, TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=40)


WRITERS: dict[str, Any] = {"t.parquet": write_parquet, "t.arrow": write_file, "t.arrows": write_stream}


@pytest.mark.parametrize("name", WRITERS)
def test_given_a_table_then_its_columns_are_described(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / name)
    found = look_one(tmp_path / name, samples=2)
    columns = by_name(found)
    assert (found.records, found.whole, found.status) == (ROWS, True, 0)
    assert list(columns) == TABLE.column_names
    assert (columns["id"].dtype, columns["id"].range, columns["id"].present) == ("int64", (0, 99), 100)
    assert (columns["name"].dtype, columns["name"].present, columns["name"].bytes) == ("string", 90, (0, 4))
    assert (columns["many"].shape, columns["many"].values, columns["many"].range) == (
        (None,),
        (0, 2),
        (0.5, 0.5),
    )
    assert (columns["pair"].shape, columns["pair"].range) == ((2,), (-99, 99))
    assert (columns["image"].looks_like, columns["image"].bytes) == ("PNG", (28, 28))
    assert columns["when"].range == ("1970-01-01 00:00:00", "1970-01-01 00:01:39")
    assert [sample["pair"] for sample in found.samples] == ["[0, 0]", "[1, -1]"]


AFTER_9999 = date.max.toordinal() - date(1970, 1, 1).toordinal() + 1
TIMES = {
    "durations": (pa.array([3, None, 1], pa.duration("s")), ("0:00:01", "0:00:03"), "0:00:03"),
    "dates after 9999": (pa.array([AFTER_9999], pa.date32()), ("10000-01-01", "10000-01-01"), "10000-01-01"),
    "intervals": (pa.array([(1, 2, 3)], pa.month_day_nano_interval()), None, "[1, 2, 3]"),
}


@pytest.mark.parametrize("kind", TIMES)
def test_given_times_that_python_or_arrow_cannot_compare_then_they_are_no_damage(
    tmp_path: Path, kind: str
) -> None:
    values, expected, first = TIMES[kind]
    with ipc.new_file(tmp_path / "t.arrow", pa.schema([("when", values.type)])) as writer:
        writer.write_table(pa.table({"when": values}))
    found = look_one(tmp_path / "t.arrow", samples=1)
    assert (found.records, found.status) == (len(values), 0)
    assert by_name(found)["when"].range == expected
    assert found.samples == [{"when": first}]


@pytest.mark.parametrize("name", WRITERS)
def test_given_a_number_of_rows_then_no_more_are_looked_at(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / name)
    found = look_one(tmp_path / name, records=35)
    assert (found.records, found.whole, by_name(found)["id"].range) == (35, False, (0, 34))


def test_given_a_parquet_file_then_its_layout_is_told(tmp_path: Path) -> None:
    write_parquet(tmp_path / "t.parquet")
    details = look_one(tmp_path / "t.parquet").details
    assert (details["row_groups"], details["compression"]) == (4, "SNAPPY")


def test_given_a_damaged_page_then_its_column_and_its_place_are_told(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_parquet(path)
    chunk = pq.ParquetFile(path).metadata.row_group(1).column(0)
    flip(path, chunk.dictionary_page_offset + chunk.total_compressed_size - 3)  # in the last page
    found = look_one(path)
    (damage,) = found.damage
    assert (found.status, damage.file) == (1, str(path))
    assert damage.offset in (chunk.dictionary_page_offset, chunk.data_page_offset)
    assert "column 'id' of row group 1" in damage.what
    assert by_name(found)["id"].present == 70


def test_given_a_parquet_file_without_its_end_then_the_footer_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_parquet(path)
    cut(path, path.stat().st_size - 20)
    found = look_one(path)
    assert (found.format, found.status, found.damage[0].offset) == ("Parquet", 1, path.stat().st_size - 8)


def test_given_an_arrow_file_without_its_end_then_whole_batches_are_still_found(tmp_path: Path) -> None:
    path = tmp_path / "t.arrow"
    write_file(path)
    cut(path, path.stat().st_size // 2)
    found = look_one(path)
    assert found.status == 1
    assert "footer" in found.damage[0].what
    assert found.records == 40


def test_given_an_arrow_stream_that_is_cut_off_then_the_batch_is_told(tmp_path: Path) -> None:
    path = tmp_path / "t.arrows"
    write_stream(path)
    cut(path, path.stat().st_size // 2)
    found = look_one(path)
    assert (found.records, found.damaged) == (40, 1)
    assert "the batch after 40 rows" in found.damage[0].what
    assert 0 < found.damage[0].offset <= path.stat().st_size


def test_given_files_with_one_schema_then_they_are_one_and_others_stay_apart(tmp_path: Path) -> None:
    for name in ("a.parquet", "b.parquet"):
        write_parquet(tmp_path / name)
    pq.write_table(pa.table({"other": [1]}), tmp_path / "c.parquet")
    together, other = look(tmp_path)
    assert (together.records, len(together.files), by_name(together)["id"].present) == (200, 2, 200)
    assert (other.records, [one.name for one in other.columns]) == (1, ["other"])


def test_given_an_array_then_its_rows_are_described(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(24, dtype=">f4").reshape(4, 2, 3))
    found = look_one(tmp_path / "x.npy", samples=1)
    (column,) = found.columns
    assert (found.records, column.shape, column.range, found.status) == (4, (2, 3), (0.0, 23.0), 0)
    assert found.samples == [{"(array)": ">f4[2, 3] [0, 1, 2, 3, 4, 5, ...]"}]


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_given_an_archive_of_arrays_then_each_is_described(tmp_path: Path, save: Any) -> None:
    save(
        tmp_path / "x.npz",
        a=np.arange(6).reshape(3, 2),
        b=np.array([0.5, np.nan, 2]),
        c=np.array(["x", "yz", ""]),
    )
    found = look_one(tmp_path / "x.npz")
    columns = by_name(found)
    assert (found.records, found.status) == (3, 0)
    assert (columns["a"].shape, columns["a"].range) == ((2,), (0, 5))
    assert (columns["b"].range, columns["b"].looks_like) == ((0.5, 2.0), "has NaN")
    assert columns["c"].dtype == "<U2"


def test_given_arrays_of_other_lengths_then_there_are_no_rows_and_the_whole_shapes(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", a=np.zeros((3, 2)), b=np.array(7))
    found = look_one(tmp_path / "x.npz")
    assert found.records is None
    assert [column.shape for column in found.columns] == [(3, 2), ()]


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_given_a_damaged_array_in_an_archive_then_its_place_is_told(tmp_path: Path, save: Any) -> None:
    path = tmp_path / "x.npz"
    save(path, a=np.arange(5000), b=np.random.default_rng(0).permutation(5000))
    with zipfile.ZipFile(path) as archive:
        place = archive.getinfo("b.npy").header_offset
    flip(path, place + 300)
    found = look_one(path)
    (damage,) = found.damage
    assert (found.status, damage.offset, "'b'" in damage.what) == (1, place, True)
    assert by_name(found)["a"].range == (0, 4999)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_given_an_array_that_unpacks_to_others_than_were_packed_then_it_is_damage(
    tmp_path: Path, save: Any
) -> None:
    path = tmp_path / "x.npz"
    save(path, a=np.arange(300_000))
    flip(path, path.read_bytes().rindex(b"PK\x01\x02") + 16)  # the checksum of the member
    found = look_one(path)
    assert (found.damaged, "'a'" in found.damage[0].what) == (1, True)


def test_given_an_array_that_is_cut_off_then_it_says_where(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(1000))
    cut(tmp_path / "x.npy", 500)
    found = look_one(tmp_path / "x.npy")
    assert (found.status, found.damage[0].offset) == (1, 500)
