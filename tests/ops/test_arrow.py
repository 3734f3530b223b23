"""`ps.ArrowDataset`."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract
from contract.processes import printed_by
from contract.streams import FAILED, events, plain
from penstock.sources import ArrowDataset

pa = pytest.importorskip("pyarrow")
ipc = pytest.importorskip("pyarrow.ipc")
feather = pytest.importorskip("pyarrow.feather")

FOLDER = Path(tempfile.mkdtemp(prefix="penstock-arrow-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)


def rows_of(count: int, first: int = 0) -> list[dict[str, Any]]:
    return [
        {"id": i, "name": f"row {i}", "tags": list(range(i % 4)), "at": {"x": i / 2, "s": "ab"[i % 2]}}
        for i in range(first, first + count)
    ]


SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("tags", pa.list_(pa.int16())),
        ("at", pa.struct([("x", pa.float32()), ("s", pa.dictionary(pa.int8(), pa.string()))])),
    ]
)


def written(name: str, rows: list[dict[str, Any]], batch: int = 20, schema: Any = SCHEMA, **how: Any) -> str:
    path = FOLDER / name
    table = pa.Table.from_pylist(rows, schema)
    if name.endswith("stream"):
        make = ipc.new_stream(str(path), schema, **how)
    else:
        make = ipc.new_file(str(path), schema, **how)
    with make as writer:
        writer.write_table(table, max_chunksize=batch)
    return str(path)


def a() -> str:
    return written("a.arrow", rows_of(50))


def b() -> str:
    return written("b.stream", rows_of(30, 50), 7)


def packed() -> str:
    path = FOLDER / "packed.feather"
    feather.write_feather(pa.Table.from_pylist(rows_of(40), SCHEMA), path, compression="lz4", chunksize=9)
    return str(path)


class TestArrow(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        return {
            "file": lambda: ArrowDataset(a()),
            "stream": lambda: ArrowDataset(b()),
            "packed": lambda: ArrowDataset(packed()),
            "several": lambda: ArrowDataset([a(), b(), packed()]),
            "columns": lambda: ArrowDataset([b(), a()], columns=["tags", "id"]),
            "in turn": lambda: ArrowDataset([a(), b()], num_parallel_reads=2),
            "no rows": lambda: ArrowDataset(written("none.arrow", [])),
        }

    def test_given_files_and_streams_then_their_rows_come_in_order(self) -> None:
        assert events(ArrowDataset([a(), b()]), limit=100) == rows_of(80)
        assert events(ArrowDataset(packed()), limit=100) == rows_of(40)

    def test_given_columns_then_those_come_in_that_order(self) -> None:
        got = next(iter(ArrowDataset(a(), columns=["name", "id"])))
        assert list(plain(got).items()) == [("name", "row 0"), ("id", 0)]
        with pytest.raises(ps.errors.DataError, match=r"expected the column 'nope', got a file with \['id'"):
            list(ArrowDataset(a(), columns=["nope"]))

    @pytest.mark.parametrize("rows", [1, 3, 64])
    def test_given_nulls_then_only_their_rows_fail(self, rows: int) -> None:
        schema = pa.schema([("x", pa.int64())])
        given = [{"x": None if i in (0, 7, 11) else i} for i in range(12)]
        path = written("nulls.arrow", given, 5, schema)
        expected = [FAILED if one["x"] is None else one for one in given]
        assert events(ArrowDataset(path), block_rows=rows) == expected
        filled = [one if one["x"] is not None else {"x": -1} for one in given]
        assert events(ArrowDataset(path, fill_nulls={"x": -1}), block_rows=rows) == filled

    def test_given_one_batch_beyond_the_budget_then_it_comes_in_pieces(self) -> None:
        path = FOLDER / "large.arrow"
        table = pa.table({"x": np.arange(1 << 20), "s": pa.array([str(i) for i in range(1 << 20)])})
        with ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table)
        assert ipc.open_file(str(path)).num_record_batches == 1
        with ArrowDataset(path).batch(1 << 12).iterate(memory="4MiB") as it:
            total = sum(int(batch["x"].sum()) for batch in it)
            assert it._run.ledger.peak <= 4 << 20
        assert total == (1 << 20) * ((1 << 20) - 1) // 2

    def test_given_a_packed_batch_beyond_the_budget_then_the_error_says_what_to_do(self) -> None:
        path = FOLDER / "packed-large.feather"
        feather.write_feather(pa.table({"x": np.zeros(1 << 20)}), path, chunksize=1 << 20)
        with (
            ArrowDataset(path).iterate(memory="4MiB") as it,
            pytest.raises(ps.errors.BudgetError, match=r"fewer rows a batch"),
        ):
            next(it)

    def test_given_rows_that_are_written_to_then_the_file_stays_as_it_is(self) -> None:
        for batch in ArrowDataset(a(), columns=["id"]).batch(10):
            batch["id"] += 1
        assert events(ArrowDataset(a(), columns=["id"])) == [{"id": i} for i in range(50)]

    def test_given_a_file_that_is_none_then_the_error_names_it(self, tmp_path: Path) -> None:
        for name, data in {"text": b"just a text", "empty": b"", "old": b"FEA1" + bytes(50)}.items():
            (tmp_path / name).write_bytes(data)
            with pytest.raises(ps.errors.DataError, match=rf"{name} at byte 0: expected an Arrow file"):
                list(ArrowDataset(tmp_path / name))
        with pytest.raises(ps.errors.StoreError, match=r"missing: No such file"):
            list(ArrowDataset(tmp_path / "missing"))

    @pytest.mark.parametrize("kind", ["file", "stream"])
    def test_given_a_mapped_file_that_becomes_shorter_then_it_is_an_error_and_not_the_end_of_the_process(
        self, kind: str, tmp_path: Path
    ) -> None:
        table = pa.table({"x": np.arange(1 << 18)})
        with getattr(ipc, f"new_{kind}")(str(tmp_path / "x"), table.schema) as writer:
            writer.write_table(table, 1 << 12)
        code = """
import os, penstock as ps
it = iter(ps.ArrowDataset("x"))
next(it)
os.truncate("x", 50_000)
try:
    list(it)
except ps.errors.DataError as error:
    print(error)
print("and then", len(list(it)))
"""
        printed = printed_by(code, tmp_path)
        assert "x at byte 50000: the file has become shorter while it was read" in printed
        assert "and then 0" in printed

    @pytest.mark.parametrize("make", [a, b])
    def test_given_a_file_that_is_cut_off_then_it_is_said_and_the_next_one_read(
        self, make: Callable[[], str], tmp_path: Path
    ) -> None:
        data = Path(make()).read_bytes()
        cut = tmp_path / "cut"
        cut.write_bytes(data[: len(data) * 2 // 3])
        got = events(ArrowDataset([cut, packed()]), limit=200)
        assert got[-41] == FAILED and got[-40:] == rows_of(40)
        assert got[:-41] == rows_of(len(got) - 41, 50)

    @pytest.mark.parametrize(
        "arrow, rows", [(pa.string(), ["abcd", "efgh", "ijkl"]), (pa.list_(pa.int8()), [[1, 2, 3, 4]] * 3)]
    )
    @pytest.mark.parametrize("lie", [[0, 4, 1 << 30, 12], [0, 4, 2, 12], [0, 4, 8, 1 << 30]])
    def test_given_offsets_that_lie_then_nothing_is_read_there(
        self, arrow: Any, rows: list[Any], lie: list[int], tmp_path: Path
    ) -> None:
        path = Path(written("lies.arrow", [{"x": row} for row in rows], schema=pa.schema([("x", arrow)])))
        data = path.read_bytes()
        offsets = np.array([0, 4, 8, 12], np.int32).tobytes()
        assert data.count(offsets) == 1
        bad = tmp_path / "bad"
        bad.write_bytes(data.replace(offsets, np.array(lie, np.int32).tobytes()))
        assert events(ArrowDataset([bad, path])) == [FAILED] + [{"x": row} for row in rows]
        with pytest.raises(ps.errors.DataError, match=r"bad: .*damaged"):
            list(ArrowDataset(bad))
