"""`Dataset.from_arrow`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract
from contract.streams import FAILED, events

pa = pytest.importorskip("pyarrow")


def table() -> Any:
    parts = [
        pa.table({"x": np.arange(first, first + 20), "s": [f"{i}" for i in range(first, first + 20)]})
        for first in (0, 20)
    ]
    return pa.concat_tables(parts)


class Frame:
    """A table as a data frame of another library would be one."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._inner.__arrow_c_stream__(requested_schema)


class TestFromArrow(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        return {
            "table": lambda: ps.Dataset.from_arrow(table()),
            "slice": lambda: ps.Dataset.from_arrow(table().slice(5, 21)),
            "batch": lambda: ps.Dataset.from_arrow(table().to_batches()[1]),
            "frame": lambda: ps.Dataset.from_arrow(Frame(table())),
            "lists": lambda: ps.Dataset.from_arrow(
                pa.table({"l": [[1], [], [2, 3]], "b": [b"", b"a", b"bc"]})
            ),
            "no rows": lambda: ps.Dataset.from_arrow(table().slice(0, 0)),
        }

    def test_given_a_table_then_its_rows_come_and_their_number_is_known(self) -> None:
        ds = ps.Dataset.from_arrow(table())
        assert events(ds) == [{"x": i, "s": str(i)} for i in range(40)]
        assert len(ds) == 40
        assert ds.element_spec == {"x": ps.TensorSpec((), "int64"), "s": ps.TensorSpec((), str)}
        frame = ps.Dataset.from_arrow(Frame(table()))
        assert events(frame) == events(ds)
        assert frame.cardinality() == ps.UNKNOWN

    def test_given_a_table_then_its_memory_is_shared_and_read_only(self) -> None:
        given = pa.table({"x": np.arange(1000)})
        (batch,) = ps.Dataset.from_arrow(given).batch(1000)
        address = given.column("x").chunk(0).buffers()[1].address
        assert batch["x"].ctypes.data == address
        with pytest.raises(ValueError, match="read-only"):
            batch["x"] += 1

    def test_given_nulls_then_their_rows_fail_unless_there_is_a_fill(self) -> None:
        given = pa.table({"x": [1, None, 3]})
        assert events(ps.Dataset.from_arrow(given)) == [{"x": 1}, FAILED, {"x": 3}]
        assert events(ps.Dataset.from_arrow(given, fill_nulls={"x": 2})) == [{"x": i} for i in (1, 2, 3)]
        with pytest.raises(ps.errors.DataError, match=r"from_arrow .*the table: row 1: column 'x' is null"):
            list(ps.Dataset.from_arrow(given))

    def test_given_wrong_arguments_then_declaring_fails_and_names_the_line(self) -> None:
        here = r"from_arrow at .*test_from_arrow\.py:\d+"
        with pytest.raises(TypeError, match=rf"{here}: expected a table of pyarrow.*got a list"):
            ps.Dataset.from_arrow([1, 2])
        reader = pa.RecordBatchReader.from_batches(table().schema, table().to_batches())
        with pytest.raises(TypeError, match=rf"{here}: .*got a reader.*read_all"):
            ps.Dataset.from_arrow(reader)
        with pytest.raises(TypeError, match=r"fill_nulls=\) at .*dict of values"):
            ps.Dataset.from_arrow(table(), fill_nulls=3)  # type: ignore[arg-type]
