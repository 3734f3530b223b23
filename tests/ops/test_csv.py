"""`CsvDataset`: its records, and those that are at fault."""

from __future__ import annotations

import atexit
import gzip
import random
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard

import penstock as ps
from contract.op_contract import OpContract, drain, same
from contract.streams import FAILED, events
from penstock.kernels.csv import plain_scan
from penstock.sources import CsvDataset

FOLDER = Path(tempfile.mkdtemp(prefix="penstock-csv-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)

INT, F, S = np.int32, np.float32, bytes


def file(name: str, data: bytes) -> str:
    path = FOLDER / name
    path.write_bytes(data)
    return str(path)


def rows(data: bytes, defaults: list[Any], **arguments: Any) -> list[Any]:
    """Each record in plain Python, or `FAILED`."""
    return events(CsvDataset(file("one", data), defaults, **arguments))


MANY = b"".join(b'%d,%d.5,"word ""%d""\n",%s\n' % (i, i, i, b"x" * (i % 9)) for i in range(200))


class TestCsv(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        many = [np.int64, F, str, [b"none"]]
        packed = file("many.gz", gzip.compress(MANY))
        return {
            "many": lambda: CsvDataset(file("many", MANY), many),
            "packed": lambda: CsvDataset(packed, many, "GZIP", 0),
            "header": lambda: CsvDataset(file("head", b"a,b\n1,2\n3,4\n"), [INT, [2.5]], header=True),
            "selected": lambda: CsvDataset(file("sel", b"1,2,3\n4,5,6\n"), [S, INT], select_cols=[0, 2]),
            "in turn": lambda: CsvDataset(
                [file("p", b"1\n2\n3\n"), file("q", b"4\n")], [INT], num_parallel_reads=2
            ),
        }


def test_given_records_then_each_column_has_its_dtype() -> None:
    got = drain(CsvDataset(file("one", b"1,2,3,4,a,b\n"), [INT, np.int64, F, np.float64, bytes, str]))
    expected = [(np.int32(1), np.int64(2), np.float32(3), np.float64(4), b"a", "b")]
    assert same(got, expected)


def test_given_defaults_then_they_stand_in_and_tell_the_dtype() -> None:
    defaults = [[7], [np.float32(1.5)], ["zz"], np.array([b"yy"]), np.array([], np.int32), [8]]
    got = drain(CsvDataset(file("one", b",,,,5,NA\nNA,NA,NA,NA,5,\n"), defaults, na_value="NA"))
    row = (np.int64(7), np.float32(1.5), "zz", b"yy", np.int32(5), np.int64(8))
    assert same(got, [row, row])


@pytest.mark.parametrize(
    "data, expected",
    [
        (b'"a ""q"" b","c,d"\n"x\ny",z\n', [(b'a "q" b', b"c,d"), (b"x\ny", b"z")]),
        (b"a,b\r\nc,d\re,f", [(b"a", b"b"), (b"c", b"d"), (b"e", b"f")]),
        (b'"a\r\n","b"\r\n', [(b"a\r\n", b"b")]),
        (b'a"b,c\nd,e\n', [FAILED, (b"d", b"e")]),
        (b'"a"b",c\nd,e\n', [FAILED, (b"d", b"e")]),
        (b'd,e\n"a"b,c\nd,e\n', [(b"d", b"e"), FAILED]),
        (b'd,e\na,"b\nc,d\n', [(b"d", b"e"), FAILED]),
        (b"a,b,c\na\n\nd,e\n", [FAILED, FAILED, FAILED, (b"d", b"e")]),
        (b"a\0,\xff\n", [(b"a\0", b"\xff")]),
        (b'"a","b"', [(b"a", b"b")]),
        (b'"""","a"""\n', [(b'"', b'a"')]),
    ],
)
def test_given_quotes_and_ends_of_lines_then_fields_are_as_written(data: bytes, expected: list[Any]) -> None:
    assert rows(data, [S, S]) == expected


def test_given_no_quotes_to_heed_then_they_are_letters() -> None:
    assert rows(b'"a",b"c\n', [S, S], use_quote_delim=False) == [(b'"a"', b'b"c')]


def test_given_another_delimiter_then_it_parts_fields() -> None:
    assert rows(b"1,5\t2\n", [S, INT], field_delim="\t") == [(b"1,5", 2)]


@pytest.mark.parametrize(
    "arguments, expected",
    [
        ({"select_cols": [1, 3]}, [(b"2", b"4"), (b"b", b"d"), FAILED]),
        ({"select_cols": [0, 1]}, [(b"1", b"2"), (b"a", b"b"), (b"x", b"y")]),
        ({"exclude_cols": [0, 2]}, [(b"2", b"4"), FAILED, FAILED]),
        ({"exclude_cols": [0, 2, 4]}, [(b"2", b"4"), (b"b", b"d"), FAILED]),
    ],
)
def test_given_columns_to_select_then_only_those_are_asked_for(
    arguments: dict[str, Any], expected: list[Any]
) -> None:
    assert rows(b"1,2,3,4\na,b,c,d,e\nx,y\n", [S, S], **arguments) == expected


def test_given_a_header_then_the_first_record_of_each_file_is_passed_over() -> None:
    paths = [file("a", b'"x\ny",z\n1,2\n'), file("b", b"x\n3,4\n")]
    assert events(CsvDataset(paths, [INT, INT], header=True)) == [(1, 2), (3, 4)]
    assert rows(b"", [INT], header=True) == [FAILED]
    assert rows(b"", [INT]) == []


@pytest.mark.parametrize(
    "header, said, follow",
    [
        (b'"name,age', "expected a quote that closes field 0, got the end of the file", []),
        (b'name,"age', "expected a quote that closes field 1, got the end of the file", []),
        (b'na"me,age', "expected no quotes in a field without quotes around it", [(b"A", 1), (b"B", 2)]),
        (b'a,b,c,d"', "expected no quotes in a field without quotes around it", [(b"A", 1), (b"B", 2)]),
        (b'"na"me",age', "expected a delimiter or the end of the line", [(b"A", 1), (b"B", 2)]),
    ],
)
def test_given_a_header_with_a_quote_too_many_then_it_is_one_error_and_what_follows_is_read(
    header: bytes, said: str, follow: list[Any]
) -> None:
    path = file("head", header + b"\nA,1\nB,2\n")
    ds = CsvDataset([path, file("next", b"name\nC,3\n")], [S, INT], header=True)
    assert events(ds) == [FAILED, *follow, (b"C", 3)]
    with pytest.raises(ps.errors.DataError, match=rf"head, line 1, byte 0: {said}") as caught:
        list(ds)
    assert (caught.value.file, caught.value.offset, caught.value.number) == (path, 0, 0)


@pytest.mark.parametrize(
    "record, said",
    [
        (b"x,1,a", "expected int32 in column 0, got b'x'"),
        (b"3000000000,1,a", "expected int32 in column 0, got b'3000000000'"),
        (b"1,1.5.5,a", "expected float32 in column 1, got b'1.5.5'"),
        (b"1,,a", "expected float32 in column 1, got b''. Give it a default"),
        (b"1,2,\xff", "expected str in column 2"),
        (b"1,2", "expected 3 fields, got 2"),
        (b"1,2,3,4", "expected 3 fields, got more"),
        (b'1,2,a"', "expected no quotes in a field without quotes around it, got one in field 2"),
        (b'1,2,"a" "', "expected a delimiter or the end of the line after the quote"),
    ],
)
def test_given_a_record_at_fault_then_it_is_one_error_with_its_place_and_the_next_follows(
    record: bytes, said: str
) -> None:
    path = file("bad", b'1,2,"a\nb"\n' + record + b"\n3,4,c\n")
    ds = CsvDataset([file("good", b"0,0,z\n"), path], [INT, F, str])
    good = [(0, 0.0, "z"), (1, 2.0, "a\nb")]
    assert events(ds) == [*good, FAILED, (3, 4.0, "c")]
    with pytest.raises(
        ps.errors.DataError, match=r"CsvDataset at .*test_csv\.py:\d+: .*bad, line 3, byte 10: "
    ) as e:
        list(ds)
    assert said in str(e.value)
    assert (e.value.file, e.value.offset, e.value.number) == (path, 10, 2)


def test_given_a_quote_that_is_never_closed_then_that_is_said_or_a_budget_error_says_where() -> None:
    path = file("open", b'1\n"' + b"x,\n" * 2_000_000)
    with pytest.raises(ps.errors.DataError, match="line 2, byte 2: expected a quote that closes field 0"):
        list(CsvDataset(path, [S]))
    with (
        CsvDataset(path, [S]).iterate(memory=4 << 20) as it,
        pytest.raises(ps.errors.BudgetError, match=r"is a quote not closed\?\), at byte 2 of .*open"),
    ):
        assert next(it) == (b"1",)
        next(it)


def test_given_many_records_at_fault_then_each_is_one_error_with_its_own_place() -> None:
    records = [b"%d\n" % i if i % 3 else b"bad\n" for i in range(3_000)]
    path = file("half", b"".join(records))
    at = np.cumsum([0, *map(len, records)]).tolist()
    with CsvDataset(path, [INT], buffer_size=0).iterate() as it:
        for i in range(3_000):
            if i % 3:
                assert next(it) == (i,)
                continue
            with pytest.raises(ps.errors.DataError, match=f"line {i + 1}, byte {at[i]}: ") as caught:
                next(it)
            assert (caught.value.offset, caught.value.number) == (at[i], i)
        assert next(it, None) is None
    assert events(CsvDataset(path, [INT]), limit=4_000) == [(i,) if i % 3 else FAILED for i in range(3_000)]


def converted(state: int, fields: list[bytes]) -> Any:
    """What a record of a whole number and a string gives, in Python's own words."""
    if state or len(fields) != 2:
        return FAILED
    try:
        return (7 if not fields[0] else int(fields[0]), fields[1]) if fields[1] else FAILED
    except ValueError:
        return FAILED


def test_given_any_bytes_then_every_buffer_and_block_gives_the_same_records() -> None:
    draw = random.Random(8)
    letters = [
        b"1",
        b"2",
        b"a",
        b",",
        b",",
        b'"',
        b"\n",
        b"\n",
        b"\r",
        b'""',
        b"1,x\n" * 20,
        b'"\n",',
        b"\xff",
    ]
    for _ in range(60):
        data = b"".join(draw.choices(letters, k=draw.randrange(80))) * draw.choice([1, 1, 60])
        path, packed = file("any", data), file("any.gz", gzip.compress(data))
        kept = data.rstrip(b"\r\n")  # empty lines at the end are no records
        expected = [converted(*record) for record in plain_scan(kept, True, b",", True)[0]]
        for size, many in ((None, None), (0, 1), (0, 7), (50_000, 100)):
            ds = CsvDataset(path, [[7], S], buffer_size=size)
            assert events(ds, limit=10**6, block_rows=many) == expected
        assert events(CsvDataset(packed, [[7], S], "GZIP", 0), limit=10**6) == expected


@pytest.mark.parametrize(
    "arguments, said",
    [
        ({"record_defaults": []}, "an item for each column, got none"),
        ({"record_defaults": 3}, "expected a list with an item"),
        ({"record_defaults": [[]]}, "expected a dtype or one value in item 0"),
        ({"record_defaults": [[1, 2]]}, "expected a dtype or one value in item 0"),
        ({"record_defaults": [np.bool_]}, "expected int32, int64, float32, float64, bytes or str in item 0"),
        ({"field_delim": ",,"}, "one ASCII character"),
        ({"field_delim": '"'}, "one ASCII character"),
        ({"field_delim": "\n"}, "one ASCII character"),
        ({"field_delim": 3}, "expected a text"),
        ({"na_value": None}, "expected a text"),
        ({"select_cols": [1, 0]}, "in rising order"),
        ({"select_cols": [0, 1]}, "for each of the 2 selected columns, got 1"),
        ({"select_cols": [0], "exclude_cols": [1]}, "select_cols or exclude_cols, got both"),
        ({"exclude_cols": 3}, "expected numbers of columns"),
        ({"header": 1}, "expected True or False"),
    ],
)
def test_given_a_wrong_argument_then_declaring_fails_with_the_users_line(
    arguments: dict[str, Any], said: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=rf"CsvDataset.* at .*test_csv\.py:\d+: .*{said}"):
        CsvDataset("a", **{"record_defaults": [INT], **arguments})


@pytest.mark.parametrize(
    ("data", "arguments", "hinted"),
    [
        (b"a,b\n1,2\n", {}, True),
        (b"1,b\n1,2\n", {}, True),
        (b"1,2\nx,2\n", {}, False),
        (b"a,b\nx,2\n", {"header": True}, False),
    ],
)
def test_given_a_first_line_that_may_be_a_header_then_the_error_says_how_to_say_so(
    data: bytes, arguments: dict[str, Any], hinted: bool
) -> None:
    with pytest.raises(ps.errors.DataError) as caught:
        list(CsvDataset(file("headed", data), [INT, F], **arguments))
    assert ("header=True" in str(caught.value)) == hinted


def test_given_a_function_that_fails_on_a_record_then_the_error_has_its_byte() -> None:
    path = file("placed", b"1,2\nx,3\n30,4\n5,6\n")
    ds = CsvDataset(path, [INT, INT]).map(lambda a, b: [a, b][int(a) // 10])
    errors = []
    with ds.iterate() as it:
        while True:
            try:
                next(it)
            except StopIteration:
                break
            except ps.errors.ElementError as error:
                errors.append((error.file, error.offset))
    assert errors == [(path, 4), (path, 8)]


@pytest.mark.parametrize("header", [False, True])
@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_given_a_packed_file_that_is_not_said_to_be_one_then_it_is_one_error(pack: Any, header: bool) -> None:
    words = np.random.default_rng(1).integers(0, 10**9, 100_000)
    path = file("packed", pack(b"n\n" + "\n".join(map(str, words)).encode()))
    ds = CsvDataset([path, file("good", b"n\n1\n")], [[0]], header=header)
    got = events(ds)
    assert got[0] == FAILED and got[-1] == (1,) and len(got) == (2 if header else 3)
    with pytest.raises(
        ps.errors.DataError, match=r"byte 0: .*a packed file\. Say compression_type='(GZIP|ZSTD)'"
    ):
        list(ds)


BOM = b"\xef\xbb\xbf"


@pytest.mark.parametrize("buffer_size", [None, 0])
@pytest.mark.parametrize(
    "data, defaults, arguments, expected",
    [
        (b"1,a\n2,b\n", [INT, S], {}, [(1, b"a"), (2, b"b")]),
        (b'"x",a\n', [S, S], {}, [(b"x", b"a")]),
        (b"n,s\n1,a\n", [INT, S], {"header": True}, [(1, b"a")]),
        (b"\xef\xbb\xbfa,b\n", [S, S], {}, [(BOM + b"a", b"b")]),
        (b"", [S], {}, []),
        (b"", [S], {"header": True}, [FAILED]),
    ],
)
def test_given_a_byte_order_mark_then_it_is_no_part_of_the_first_field(
    data: bytes, defaults: list[Any], arguments: dict[str, Any], expected: list[Any], buffer_size: int | None
) -> None:
    assert rows(BOM + data, defaults, buffer_size=buffer_size, **arguments) == expected


def test_given_a_byte_order_mark_then_errors_have_their_own_bytes() -> None:
    path = file("marked", BOM + b"1,a\nx,b\n")
    with pytest.raises(ps.errors.DataError, match="line 2, byte 7: expected int32") as caught:
        list(CsvDataset(path, [INT, S]))
    assert caught.value.offset == 7
    with pytest.raises(ps.errors.DataError, match=r"line 1, byte 3: .*say header=True"):
        list(CsvDataset(file("headed", BOM + b"n,s\n1,a\n"), [INT, S]))


@pytest.mark.parametrize("end", [b"\n", b"\n\n\n", b"\r\n\r\n", b"\r\r", b"\n" * 70_000])
@pytest.mark.parametrize(
    "data, defaults, arguments, expected",
    [
        (b"1,a\n2,b\n", [INT, S], {}, [(1, b"a"), (2, b"b")]),
        (b"1,a\r\n", [INT, S], {}, [(1, b"a")]),
        (b"1\n2\n", [INT], {}, [(1,), (2,)]),
        (b"", [INT, S], {}, []),
        (b"n,s\n1,a\n", [INT, S], {"header": True}, [(1, b"a")]),
        (b"1,2\n", [[7]], {"select_cols": [1]}, [(2,)]),
        (b'1,"a\n', [INT, S], {}, [FAILED]),
    ],
)
def test_given_empty_lines_at_the_end_then_they_are_no_records(
    data: bytes, defaults: list[Any], arguments: dict[str, Any], expected: list[Any], end: bytes
) -> None:
    for buffer_size in (None, 0):
        assert rows(data + end, defaults, buffer_size=buffer_size, **arguments) == expected


def test_given_empty_lines_before_a_record_then_each_is_an_error_with_its_line() -> None:
    for count in (1, 3, 9_000):
        path = file("gap", b"1,a\n" + b"\n" * count + b"2,b\n\n")
        with CsvDataset(path, [INT, S], buffer_size=0).iterate() as it:
            assert next(it) == (1, b"a")
            for line in range(2, 2 + count):
                with pytest.raises(ps.errors.DataError, match=f"line {line}, .*expected 2 fields, got 1"):
                    next(it)
            assert next(it) == (2, b"b")
            assert next(it, None) is None


def test_given_one_column_with_a_default_then_an_empty_line_is_a_record() -> None:
    assert rows(b"1\n\n3\n\n", [[7]]) == [(1,), (7,), (3,), (7,)]
