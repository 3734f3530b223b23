"""float16, bfloat16 and float8 from end to end: their bytes come through every op as they are."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps

ml_dtypes = pytest.importorskip("ml_dtypes")

NAMES = ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"]


def dtype_of(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, name, name))


def rows_of(name: str, rows: int = 12, width: int = 4) -> np.ndarray[Any, Any]:
    bits = np.random.default_rng(0).integers(0, 16, (rows, width))
    return bits.astype(np.float32).astype(dtype_of(name))


def joined(ds: ps.Dataset) -> np.ndarray[Any, Any]:
    return np.concatenate([batch.copy() for batch in ds])


def assert_same(got: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> None:
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    assert got.tobytes() == expected.tobytes()


WAYS: dict[str, Callable[[np.ndarray[Any, Any]], ps.Dataset]] = {
    "slices": lambda rows: ps.Dataset.from_tensor_slices(rows).batch(5),
    "cast over the block": lambda rows: (
        ps.Dataset.from_tensor_slices(rows.astype(np.float32)).map(lambda x: x.astype(rows.dtype)).batch(5)
    ),
    "a function row by row": lambda rows: ps.Dataset.range(12).map(lambda i: rows[int(i)]).batch(5),
    "arithmetic": lambda rows: ps.Dataset.from_tensor_slices(rows).map(lambda x: x * 1 + 0).batch(5),
    "generator": lambda rows: ps.Dataset.from_generator(
        lambda: iter(rows), output_signature=ps.TensorSpec((4,), rows.dtype)
    ).batch(5),
    "decode_raw": lambda rows: (
        ps.Dataset.from_tensor_slices([row.tobytes() for row in rows])
        .map(lambda row: ps.io.decode_raw(row, rows.dtype))
        .batch(5)
    ),
    "unbatch": lambda rows: ps.Dataset.from_tensor_slices(rows).batch(5).unbatch().batch(7),
    "concatenate": lambda rows: (
        ps.Dataset.from_tensor_slices(rows[:5]).concatenate(ps.Dataset.from_tensor_slices(rows[5:])).batch(5)
    ),
    "prefetch and cache": lambda rows: ps.Dataset.from_tensor_slices(rows).cache().prefetch(2).batch(5),
}


@pytest.mark.parametrize("name", NAMES)
class TestOps:
    @pytest.mark.parametrize("way", WAYS)
    def test_given_an_op_then_the_bytes_come_through(self, name: str, way: str) -> None:
        rows = rows_of(name)
        assert_same(joined(WAYS[way](rows)), rows)

    def test_given_a_name_then_a_spec_has_the_dtype_and_the_elements_agree(self, name: str) -> None:
        spec = ps.TensorSpec((4,), name)
        assert spec.dtype == dtype_of(name)
        dtype = spec.dtype
        ds = ps.Dataset.from_tensor_slices(np.zeros((2, 4), np.float32)).map(lambda x: x.astype(dtype))
        assert ds.element_spec == spec

    def test_given_a_cast_then_it_runs_over_the_block(self, name: str) -> None:
        ds, dtype = ps.Dataset.from_tensor_slices(rows_of(name).astype(np.float32)), dtype_of(name)
        assert "over whole blocks" in str(ds.map(lambda x: x.astype(dtype)).explain())

    def test_given_a_shuffle_and_a_cache_that_spill_then_every_row_is_whole(self, name: str) -> None:
        rows = rows_of(name, 2000, 512)
        ds = ps.Dataset.from_tensor_slices(rows).map(np.copy).filter(lambda x: True).shuffle(1000, seed=1)
        expected = sorted(row.tobytes() for row in rows)
        cached = ds.cache().batch(50)
        for _ in range(2):
            with cached.iterate(memory="640KiB") as it:
                got = [row.tobytes() for batch in it for row in batch]
            assert sorted(got) == expected

    def test_given_saved_rows_then_they_load_as_they_were(self, name: str, tmp_path: Path) -> None:
        rows = rows_of(name)
        ps.Dataset.from_tensor_slices({"x": rows}).save(tmp_path)
        loaded = ps.Dataset.load(tmp_path)
        assert loaded.element_spec == {"x": ps.TensorSpec((4,), name)}
        assert_same(np.stack([element["x"] for element in loaded]), rows)

    def test_given_a_cache_file_then_it_is_read_again(self, name: str, tmp_path: Path) -> None:
        rows = rows_of(name)
        for _ in range(2):
            ds = ps.Dataset.from_tensor_slices(rows).cache(str(tmp_path / "rows")).batch(12)
            assert_same(joined(ds), rows)

    def test_given_records_then_decode_raw_reads_them(self, name: str, tmp_path: Path) -> None:
        rows = rows_of(name)
        with ps.io.TFRecordWriter(str(tmp_path / "rows")) as writer:
            for row in rows:
                writer.write(row.tobytes())
        ds = ps.TFRecordDataset(str(tmp_path / "rows"))
        assert_same(joined(ds.map(lambda row: ps.io.decode_raw(row, dtype_of(name))).batch(5)), rows)

    def test_given_rows_of_unequal_length_then_they_are_padded_with_zeros(self, name: str) -> None:
        row = rows_of(name)[0]
        ds = ps.Dataset.from_tensor_slices([1, 3]).map(lambda i: row[: int(i)]).padded_batch(2)
        zeros = np.zeros(2, row.dtype)
        assert_same(joined(ds), np.stack([np.concatenate([row[:1], zeros]), row[:3]]))


@pytest.mark.parametrize("name", [*NAMES, "float8_e4m3fnuz", "float8_e5m2fnuz"])
def test_given_torch_then_it_has_the_same_bytes_at_the_same_address(name: str) -> None:
    torch = pytest.importorskip("torch")
    rows = rows_of(name)
    (batch,) = ps.Dataset.from_tensor_slices(rows).batch(12).as_torch()
    assert batch.dtype == getattr(torch, name)
    assert batch.data_ptr() == rows.ctypes.data
    assert batch.float().tolist() == rows.astype(np.float32).tolist()


def test_given_a_kind_that_torch_has_not_then_declaring_says_so() -> None:
    pytest.importorskip("torch")
    rows = np.zeros(3, ml_dtypes.float8_e3m4)
    with pytest.raises(ps.errors.ArgumentTypeError, match="torch has no dtype float8_e3m4"):
        ps.Dataset.from_tensor_slices(rows).as_torch()


def test_given_no_ml_dtypes_then_a_spec_by_name_says_what_to_install() -> None:
    code = (
        "import sys\nsys.modules['ml_dtypes'] = None\nimport penstock as ps\n"
        "try:\n    ps.TensorSpec((), 'bfloat16')\nexcept ps.errors.PenstockError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install ml_dtypes" in done.stdout
