"""`ps.ParquetDataset`."""

from __future__ import annotations

import atexit
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract
from contract.streams import FAILED, events, plain
from penstock.sources import ParquetDataset

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

FOLDER = Path(tempfile.mkdtemp(prefix="penstock-parquet-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)


def rows_of(count: int, first: int = 0) -> list[dict[str, Any]]:
    return [
        {
            "id": i,
            "score": i / 4,
            "ok": i % 3 == 0,
            "name": f"row {i}",
            "blob": bytes([i % 256]) * (i % 7),
            "tags": list(range(i % 4)),
            "pair": [i, -i],
            "point": {"x": i, "label": "ab"[i % 2]},
        }
        for i in range(first, first + count)
    ]


SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("score", pa.float32()),
        ("ok", pa.bool_()),
        ("name", pa.string()),
        ("blob", pa.binary()),
        ("tags", pa.list_(pa.int32())),
        ("pair", pa.list_(pa.int16(), 2)),
        ("point", pa.struct([("x", pa.int8()), ("label", pa.dictionary(pa.int8(), pa.string()))])),
    ]
)


def written(name: str, rows: list[dict[str, Any]], schema: Any = SCHEMA, **how: Any) -> str:
    path = FOLDER / name
    if not path.exists():
        pq.write_table(pa.Table.from_pylist(rows, schema), path, **how)
    return str(path)


def a() -> str:
    return written("a.parquet", rows_of(50), row_group_size=20)


def b() -> str:
    return written("b.parquet", rows_of(30, 50), row_group_size=7, compression="zstd")


def with_nulls() -> str:
    rows = [{"x": None if i % 5 == 1 else i, "y": None if i == 8 else f"{i}"} for i in range(12)]
    schema = pa.schema([("x", pa.int64()), ("y", pa.string())])
    return written("nulls.parquet", rows, schema, row_group_size=9)


class TestParquet(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        return {
            "one file": lambda: ParquetDataset(a()),
            "several files": lambda: ParquetDataset([a(), b()]),
            "a dataset of names": lambda: ParquetDataset(ps.Dataset.from_tensor_slices([a(), b()])),
            "columns": lambda: ParquetDataset([b(), a()], columns=["tags", "id"]),
            "small batches": lambda: ParquetDataset([a()], batch_rows=3),
            "nulls filled": lambda: ParquetDataset(with_nulls(), fill_nulls={"x": -1, "y": ""}),
            "in turn": lambda: ParquetDataset([a(), b()], num_parallel_reads=2),
            "no rows": lambda: ParquetDataset(written("none.parquet", [])),
        }

    def test_given_files_then_their_rows_come_in_order(self) -> None:
        assert events(ParquetDataset([a(), b()]), limit=100) == rows_of(80)

    def test_given_columns_then_those_come_in_that_order(self) -> None:
        got = next(iter(ParquetDataset(a(), columns=["name", "id"])))
        assert list(got) == ["name", "id"]
        assert plain(got) == {"name": "row 0", "id": 0}

    def test_given_several_parallel_reads_then_a_row_of_each_file_comes_in_turn(self) -> None:
        got = [int(row["id"]) for row in ParquetDataset([a(), b()], num_parallel_reads=2).take(6)]
        assert got == [0, 50, 1, 51, 2, 52]

    @pytest.mark.parametrize("rows", [1, 3, 64])
    def test_given_nulls_then_only_their_rows_fail_and_say_which_column(self, rows: int) -> None:
        ds = ParquetDataset(with_nulls())
        good = [{"x": i, "y": str(i)} for i in range(12)]
        expected = [FAILED if i in (1, 6, 8, 11) else good[i] for i in range(12)]
        assert events(ds, block_rows=rows) == expected
        with pytest.raises(ps.errors.DataError, match=r"nulls\.parquet: row 1: column 'x' is null.*2 of 9"):
            list(ds)
        with pytest.raises(ps.errors.DataError, match=r"row 8: column 'y' is null.*fill_nulls={'y'"):
            list(ParquetDataset(with_nulls(), fill_nulls={"x": 0}))
        assert events(ds.ignore_errors()) == [one for one in expected if one != FAILED]

    def test_given_rows_that_may_be_written_to_then_nobody_else_sees_it(self) -> None:
        ds = ParquetDataset(a(), columns=["id"])
        for batch in ds.batch(10):
            batch["id"] += 1000
        assert [int(row["id"]) for row in ds] == list(range(50))

    def test_given_a_file_with_other_columns_then_it_is_refused_and_the_next_one_read(self) -> None:
        other = written("other.parquet", [{"id": 1.5}], pa.schema([("id", pa.float64())]))
        ds = ParquetDataset([a(), other, b()], columns=["id"])
        assert events(ds, limit=100) == [{"id": i} for i in range(50)] + [FAILED] + [
            {"id": i} for i in range(50, 80)
        ]
        with pytest.raises(
            ps.errors.DataError, match=r"other\.parquet: expected columns as in .*a\.parquet.*float64"
        ) as caught:
            list(ds)
        assert caught.value.file == other

    def test_given_a_column_that_is_not_there_then_the_error_lists_those_that_are(self) -> None:
        with pytest.raises(ps.errors.DataError, match=r"expected the column 'nope', got a file with \['id'"):
            list(ParquetDataset(a(), columns=["nope"]))
        with pytest.raises(ps.errors.DataError, match=r"fill_nulls to name columns of \['id'.*'nope'"):
            list(ParquetDataset(a(), fill_nulls={"nope": 1}))

    def test_given_a_file_that_is_none_then_the_error_names_it(self) -> None:
        path = FOLDER / "text.parquet"
        path.write_bytes(b"this is a text and not a table at all")
        with pytest.raises(ps.errors.DataError, match=r"text\.parquet: expected a Parquet file"):
            list(ParquetDataset(str(path)))
        with pytest.raises(ps.errors.StoreError, match=r"missing\.parquet: No such file"):
            list(ParquetDataset(str(FOLDER / "missing.parquet")))

    def test_given_a_damaged_row_group_then_it_is_one_error_and_the_next_group_comes(self) -> None:
        path = FOLDER / "damaged.parquet"
        table = pa.table({"x": np.arange(3000)})
        pq.write_table(table, path, row_group_size=1000, use_dictionary=False, compression="none")
        pages = pq.ParquetFile(path).metadata.row_group(1).column(0)
        data = bytearray(path.read_bytes())
        data[pages.data_page_offset : pages.data_page_offset + 8] = b"\xff" * 8
        path.write_bytes(data)
        got = events(ParquetDataset(str(path)), limit=4000)
        assert got == [{"x": i} for i in range(1000)] + [FAILED] + [{"x": i} for i in range(2000, 3000)]
        with pytest.raises(ps.errors.DataError, match=r"row group 1 of 1000 rows is damaged") as caught:
            list(ParquetDataset(str(path)))
        assert caught.value.file == str(path)

    @pytest.mark.parametrize("at", [4, 8, 12, 30, 60])
    @pytest.mark.parametrize("how", [{}, {"columns": ["x"]}, {"batch_rows": 7}])
    def test_given_damage_where_the_first_group_begins_then_it_is_an_error_of_the_file_and_the_rest_comes(
        self, at: int, how: dict[str, Any]
    ) -> None:
        path = FOLDER / "first.parquet"
        pq.write_table(pa.table({"x": np.arange(300)}), path, row_group_size=100, write_page_checksum=True)
        data = bytearray(path.read_bytes())
        data[at] ^= 0xFF
        data[at + 1] ^= 0xFF
        path.write_bytes(data)
        rest = [{"x": i} for i in range(100, 300)]
        assert events(ParquetDataset(str(path), **how), limit=400) == [FAILED, *rest]
        assert events(ParquetDataset(str(path), **how).ignore_errors(), limit=400) == rest
        said = r"ParquetDataset at .*test_parquet\.py:\d+: .*first\.parquet: the row group 0 of 100 rows"
        with pytest.raises(ps.errors.DataError, match=said) as caught:
            list(ParquetDataset(str(path), **how))
        assert (caught.value.file, caught.value.op, caught.value.number) == (str(path), "ParquetDataset", 0)

    def test_given_any_byte_that_is_damaged_then_only_errors_of_ours_come(self) -> None:
        whole = FOLDER / "whole.parquet"
        rows = [{"x": i, "s": f"word {i % 3}", "l": [i] * (i % 3)} for i in range(40)]
        pq.write_table(pa.Table.from_pylist(rows), whole, row_group_size=10)
        data = whole.read_bytes()
        path = FOLDER / "flipped.parquet"
        for at in range(4, len(data) - 8, 7):
            flipped = bytearray(data)
            flipped[at] ^= 0x55
            path.write_bytes(flipped)
            with ParquetDataset(str(path)).iterate() as it:
                for _ in range(100):  # a run that ends with another error fails the test
                    try:
                        next(it)
                    except StopIteration:
                        break
                    except ps.errors.DataError as error:
                        assert error.file == str(path), at

    def test_given_damage_that_hides_rows_from_arrow_then_it_is_an_error_and_not_a_shorter_file(self) -> None:
        whole = FOLDER / "plain.parquet"
        how = {"row_group_size": 500, "use_dictionary": False, "compression": "none"}
        pq.write_table(pa.table({"x": np.arange(1000)}), whole, **how)
        data = whole.read_bytes()
        path = FOLDER / "hidden.parquet"
        meta = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
        for at in [*range(4, 30), *range(meta, len(data) - 8)]:
            flipped = bytearray(data)
            flipped[at] ^= 1
            path.write_bytes(flipped)
            got = events(ParquetDataset(str(path)), limit=1100)
            assert len(got) >= 1000 or FAILED in got, at
        flipped = bytearray(data)
        flipped[5] ^= 1  # the kind of the first page: one of a kind that is not known is no data
        path.write_bytes(flipped)
        assert events(ParquetDataset(str(path)), limit=1100) == [FAILED] + [
            {"x": i} for i in range(500, 1000)
        ]
        with pytest.raises(ps.errors.DataError, match=r"row group 0 is damaged: expected 500 rows, got 0"):
            list(ParquetDataset(str(path)))

    def test_given_a_damaged_name_of_a_column_then_the_file_is_refused_and_the_next_one_read(self) -> None:
        path = FOLDER / "name.parquet"
        pq.write_table(pa.table({"somename": [1]}), path, store_schema=False)
        path.write_bytes(path.read_bytes().replace(b"somename", b"\x89omename"))
        assert events(ParquetDataset([str(path), a()], columns=["id"]))[:2] == [FAILED, {"id": 0}]
        with pytest.raises(ps.errors.DataError, match=r"name\.parquet: expected a Parquet file") as caught:
            list(ParquetDataset(str(path)))
        assert caught.value.file == str(path)

    @pytest.mark.parametrize(
        "kind, value",
        [
            (pa.int64(), 0.5),
            (pa.int64(), "3"),
            (pa.int8(), 300),
            (pa.uint8(), -1),
            (pa.int64(), 2**63),
            (pa.float32(), 1e300),
            (pa.string(), 3),
            (pa.int64(), None),
        ],
    )
    def test_given_a_fill_that_the_column_cannot_hold_then_it_is_refused_before_the_first_row(
        self, kind: Any, value: Any
    ) -> None:
        path = FOLDER / "fill.parquet"
        first = {"string": "a"}.get(str(kind), 1)
        pq.write_table(pa.table({"a": pa.array([first, None], kind)}), path)
        said = rf"fill\.parquet: column 'a' of the type {kind} cannot be filled with {re.escape(repr(value))}"
        ds = ParquetDataset(str(path), fill_nulls={"a": value}).ignore_errors()
        with ds.iterate() as it, pytest.raises(ps.errors.ArgumentTypeError, match=said):
            next(it)

    def test_given_strings_that_are_there_once_and_meant_often_then_batches_stay_small(self) -> None:
        path = written(
            "repeated.parquet",
            [{"s": "x" * 10_000}] * 5000,
            pa.schema([("s", pa.string())]),
            row_group_size=5000,
        )
        assert Path(path).stat().st_size < 100_000
        with ParquetDataset(path).iterate(memory="4MiB") as it:
            assert sum(1 for _ in it) == 5000
            assert it._run.ledger.peak <= 4 << 20

    def test_given_wrong_arguments_then_declaring_fails_and_names_the_line(self) -> None:
        here = r"at .*test_parquet\.py:\d+"
        with pytest.raises(TypeError, match=rf"ParquetDataset\(columns=\) {here}.*list of names, got 'id'"):
            ParquetDataset(a(), columns="id")
        with pytest.raises(TypeError, match=rf"columns=\) {here}.*got 3"):
            ParquetDataset(a(), columns=["id", 3])  # type: ignore[list-item]
        with pytest.raises(ValueError, match=rf"columns=\) {here}.*each once"):
            ParquetDataset(a(), columns=["id", "id"])
        with pytest.raises(ValueError, match=rf"batch_rows=\) {here}.*at least 1, got 0"):
            ParquetDataset(a(), batch_rows=0)
        with pytest.raises(TypeError, match=rf"fill_nulls=\) {here}.*dict of values"):
            ParquetDataset(a(), fill_nulls=[1])  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=rf"filenames=\) {here}"):
            ParquetDataset(3)

    def test_given_a_declaration_then_no_file_is_opened(self) -> None:
        assert ParquetDataset("/nowhere/at-all.parquet").cardinality() == ps.UNKNOWN
