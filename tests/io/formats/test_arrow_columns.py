"""Arrow's arrays as columns."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import numpy as np
import pytest

from contract.op_contract import same
from contract.streams import plain
from penstock.blocks.columns import BytesColumn, DenseColumn, ObjectColumn, RaggedColumn

pa = pytest.importorskip("pyarrow")

from penstock.io.formats.arrow_columns import ColumnTypeError, RowsError, block_of, spec_of  # noqa: E402

DAY = datetime.date(2020, 2, 29)
NOON = datetime.datetime(2020, 2, 29, 12, 0, 0, 250)

ROWS: dict[str, tuple[Any, list[Any]]] = {
    "int8": (pa.int8(), [1, -2, 3, 4]),
    "uint64": (pa.uint64(), [1, 2**63, 3, 4]),
    "float16": (pa.float16(), [0.5, 1.0, -2.0, 4.0]),
    "float64": (pa.float64(), [0.1, 1.0, -2.0, 4.0]),
    "bool": (pa.bool_(), [True, False, False, True]),
    "string": (pa.string(), ["a", "", "äöü", "x" * 100]),
    "large_string": (pa.large_string(), ["a", "", "äöü", "x" * 100]),
    "string_view": (pa.string_view(), ["a", "", "äöü", "x" * 100]),
    "binary": (pa.binary(), [b"a", b"", b"\xff", b"x" * 100]),
    "binary_view": (pa.binary_view(), [b"a", b"", b"\xff", b"x" * 100]),
    "fixed binary": (pa.binary(2), [b"ab", b"cd", b"ef", b"\x00\xff"]),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), ["a", "b", "a", "a"]),
    "runs": (pa.run_end_encoded(pa.int32(), pa.int64()), [7, 7, 8, 8]),
    "list": (pa.list_(pa.int32()), [[1, 2], [], [3], [4, 5, 6]]),
    "large_list": (pa.large_list(pa.float32()), [[1, 2], [], [3], [4, 5, 6]]),
    "list_view": (pa.list_view(pa.int64()), [[1, 2], [], [3], [4, 5, 6]]),
    "fixed list": (pa.list_(pa.int32(), 2), [[1, 2], [3, 4], [5, 6], [7, 8]]),
    "fixed list of strings": (pa.list_(pa.string(), 2), [["a", "b"], ["", "d"], ["e", "f"], ["g", "h"]]),
    "fixed list of lists": (
        pa.list_(pa.list_(pa.int8()), 2),
        [[[1], [2]], [[], []], [[3, 4], [5, 6]], [[7], [8]]],
    ),
    "list of fixed lists": (
        pa.list_(pa.list_(pa.int8(), 2)),
        [[[1, 2]], [[3, 4], [5, 6]], [[7, 8]], [[1, 1]]],
    ),
    "list of lists": (pa.list_(pa.list_(pa.int8())), [[[1, 2]], [[3], [5]], [[7, 8, 9]], [[1], [1]]]),
    "list of strings": (pa.list_(pa.string()), [["a", "b"], ["c"], ["d", "e", "f"], ["g"]]),
    "list of equally many strings": (pa.list_(pa.binary()), [[b"a", b"b"], [b"c", b""]] * 2),
    "struct": (
        pa.struct([("a", pa.int32()), ("b", pa.struct([("c", pa.string())]))]),
        [{"a": i, "b": {"c": str(i)}} for i in range(4)],
    ),
}
"""By name: a type of Arrow, and rows of it."""


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("offset", [0, 2])
def test_given_a_type_then_its_rows_and_their_spec_come_back(name: str, offset: int) -> None:
    arrow, rows = ROWS[name]
    # Rows before and after show whether a slice of an array is taken for the whole.
    array = pa.array(rows[2:] + rows + rows[:1], arrow).slice(2, 4).slice(offset)
    batch = pa.record_batch({"x": array})
    block = block_of(batch)
    assert block.rows == 4 - offset
    assert [plain(element["x"]) for element in block.elements()] == rows[offset:]
    spec = spec_of(batch.schema)
    assert spec.structure == block.structure
    for element in block.elements():
        for leaf, leaf_spec in zip(spec.structure.flatten(element), spec.leaves, strict=True):
            assert leaf_spec.accepts(leaf), (leaf, leaf_spec)


@pytest.mark.parametrize(
    "arrow, rows, expected",
    [
        (pa.date32(), [DAY], np.array(["2020-02-29"], "datetime64[D]")),
        (pa.date64(), [DAY], np.array(["2020-02-29"], "datetime64[ms]")),
        (pa.timestamp("us"), [NOON], np.array(["2020-02-29T12:00:00.000250"], "datetime64[us]")),
        (pa.timestamp("s", "Europe/Berlin"), [0], np.array(["1970-01-01"], "datetime64[s]")),
        (pa.time32("s"), [datetime.time(1, 0, 1)], np.array([3601], "timedelta64[s]")),
        (pa.duration("ms"), [datetime.timedelta(seconds=2)], np.array([2000], "timedelta64[ms]")),
        (pa.decimal128(6, 2), [decimal.Decimal("12.25")], np.array([12.25])),
        (pa.decimal256(60, 1), [decimal.Decimal("-0.5")], np.array([-0.5])),
    ],
)
def test_given_times_and_decimals_then_numpy_has_its_own_for_them(
    arrow: Any, rows: list[Any], expected: Any
) -> None:
    block = block_of(pa.record_batch({"x": pa.array(rows, arrow)}))
    column = block.columns[0]
    assert isinstance(column, DenseColumn)
    assert same(column.array, expected)
    assert spec_of(pa.schema({"x": arrow})).leaves[0].dtype == expected.dtype


def test_given_a_list_of_structs_or_a_map_then_it_is_a_dict_of_lists() -> None:
    structs = pa.array(
        [[{"a": 1, "b": "x"}], [], [{"a": 2, "b": "y"}, {"a": 3, "b": "z"}]],
        pa.list_(pa.struct([("a", pa.int64()), ("b", pa.string())])),
    )
    maps = pa.array([[("k", 1)], [], [("l", 2), ("m", 3)]], pa.map_(pa.string(), pa.int64()))
    batch = pa.record_batch({"s": structs, "m": maps}).slice(1)
    got = [plain(element) for element in block_of(batch).elements()]
    assert got == [
        {"s": {"a": [], "b": []}, "m": {"key": [], "value": []}},
        {"s": {"a": [2, 3], "b": ["y", "z"]}, "m": {"key": ["l", "m"], "value": [2, 3]}},
    ]
    assert spec_of(batch.schema).structure == block_of(batch).structure


def test_given_tensors_with_their_axes_in_another_order_then_rows_are_as_meant() -> None:
    meant = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    arrow = pa.fixed_shape_tensor(pa.int16(), (4, 3), permutation=[1, 0])
    flat = pa.array(meant.transpose(0, 2, 1).reshape(2, 12).tolist(), pa.list_(pa.int16(), 12))
    batch = pa.record_batch({"x": pa.ExtensionArray.from_storage(arrow, flat)})
    assert same([element["x"] for element in block_of(batch).elements()], list(meant))
    assert spec_of(batch.schema).leaves[0].shape == (3, 4)


def test_given_numbers_and_strings_then_nothing_is_copied_and_no_object_made() -> None:
    arrays = {"n": pa.array(range(100)), "s": pa.array(["x" * i for i in range(100)])}
    arrays["l"] = pa.array([[1.5] * i for i in range(100)])
    dense, strings, ragged = block_of(pa.record_batch(arrays)).columns
    assert isinstance(dense, DenseColumn)
    assert dense.array.ctypes.data == arrays["n"].buffers()[1].address
    assert isinstance(strings, BytesColumn) and strings.text
    assert strings.values.ctypes.data == arrays["s"].buffers()[2].address
    assert isinstance(ragged, RaggedColumn)
    assert ragged.values.ctypes.data == arrays["l"].buffers()[3].address


def test_given_a_batch_of_somebody_else_then_numbers_are_read_only() -> None:
    batch = pa.record_batch({"x": pa.array(np.arange(3)), "b": pa.array([True, False, True])})
    for column in block_of(batch, own=False).columns:
        assert isinstance(column, DenseColumn)
        assert not column.array.flags.writeable


@pytest.mark.parametrize(
    "array, path, value, filled",
    [
        (pa.array([1, None, 3]), "x", 9, [1, 9, 3]),
        (pa.array(["a", None, "c"]), "x", "?", ["a", "?", "c"]),
        (pa.array([True, None, False]), "x", False, [True, False, False]),
        (pa.array([[1], None, [2, 3]]), "x", [], [[1], [], [2, 3]]),
        (pa.array([[1], [None, 4], []]), "x.item", 0, [[1], [0, 4], []]),
        (
            pa.array([[1, 2], [None, 4], [5, 6]], pa.list_(pa.int64(), 2)),
            "x.item",
            0,
            [[1, 2], [0, 4], [5, 6]],
        ),
        (pa.array([{"a": 1}, {"a": None}, {"a": 3}]), "x.a", 5, [{"a": 1}, {"a": 5}, {"a": 3}]),
        (pa.array(["a", None, "a"]).dictionary_encode(), "x", "b", ["a", "b", "a"]),
    ],
)
def test_given_nulls_then_the_row_is_named_unless_there_is_a_fill(
    array: Any, path: str, value: Any, filled: list[Any]
) -> None:
    batch = pa.record_batch({"x": array})
    with pytest.raises(RowsError, match=rf"column '{path}' is null.*fill_nulls={{'{path}'") as caught:
        block_of(batch)
    assert caught.value.rows.tolist() == [1]
    got = block_of(batch, fill_nulls={path: value})
    assert [plain(element["x"]) for element in got.elements()] == filled


def test_given_a_null_struct_then_its_fields_are_null() -> None:
    batch = pa.record_batch({"x": pa.array([None, {"a": 1}])})
    with pytest.raises(RowsError, match=r"column 'x' is null") as caught:
        block_of(batch)
    assert caught.value.rows.tolist() == [0]
    got = block_of(batch, fill_nulls={"x": {"a": 4}})
    assert [plain(element) for element in got.elements()] == [{"x": {"a": 4}}, {"x": {"a": 1}}]


def test_given_null_floats_then_nan_is_offered_and_fills() -> None:
    batch = pa.record_batch({"x": pa.array([1.5, None])})
    with pytest.raises(RowsError, match=r"float\('nan'\)"):
        block_of(batch)
    column = block_of(batch, fill_nulls={"x": float("nan")}).columns[0]
    assert isinstance(column, DenseColumn)
    assert np.isnan(column.array).tolist() == [False, True]


def test_given_a_fill_of_another_type_then_the_error_names_both() -> None:
    batch = pa.record_batch({"x": pa.array([1, None])})
    with pytest.raises(ColumnTypeError, match=r"'x' of the type int64 cannot be filled with 'no'"):
        block_of(batch, fill_nulls={"x": "no"})


def test_given_lists_of_several_lengths_in_a_list_then_those_rows_are_named() -> None:
    array = pa.array([[[1], [2]], [[1], [2, 3]], [], [[], [1]]], pa.list_(pa.list_(pa.int64())))
    with pytest.raises(RowsError, match=r"column 'x' has lists of several lengths") as caught:
        block_of(pa.record_batch({"x": array}))
    assert caught.value.rows.tolist() == [1, 3]


def test_given_text_that_is_no_utf8_then_those_rows_are_named() -> None:
    array = pa.array([b"a", b"\xff", b"c"]).view(pa.string())
    with pytest.raises(RowsError, match=r"column 'x' is no UTF-8") as caught:
        block_of(pa.record_batch({"x": array}))
    assert caught.value.rows.tolist() == [1]


def test_given_strings_of_several_numbers_a_row_then_they_are_arrays_of_objects() -> None:
    column = block_of(pa.record_batch({"x": pa.array([["a"], ["b", "c"]])})).columns[0]
    assert isinstance(column, ObjectColumn)


@pytest.mark.parametrize(
    "arrow, words",
    [
        (pa.null(), "type null"),
        (pa.month_day_nano_interval(), "interval"),
        (pa.list_(pa.list_(pa.string())), "lists of lists of strings"),
    ],
)
def test_given_a_type_without_a_form_in_numpy_then_the_column_is_named(arrow: Any, words: str) -> None:
    with pytest.raises(ColumnTypeError, match=rf"column 'x' has .*{words}"):
        spec_of(pa.schema({"x": arrow}))


def test_given_a_name_twice_then_it_is_refused() -> None:
    with pytest.raises(ColumnTypeError, match=r"columns \['x'\] are there more than once"):
        spec_of(pa.schema([("x", pa.int8()), ("x", pa.int8()), ("y", pa.int8())]))
