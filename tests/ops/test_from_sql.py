"""`Dataset.from_sql`, over SQLite; what only a server can show is in `tests/sql`."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract, same
from contract.streams import FAILED, events
from penstock.graph.fingerprint import fingerprint

ROWS = 50
PLACE: dict[str, str] = {}
"""The address of the database, once it is made."""


@pytest.fixture(scope="module", autouse=True)
def database(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("sql") / "some rows?.db"
    with sqlite3.connect(path) as made:
        made.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, x REAL, name TEXT, raw BLOB)")
        made.executemany(
            "INSERT INTO rows VALUES (?, ?, ?, ?)",
            [(i, i / 4, f"n{i}", bytes(range(i))) for i in range(ROWS)],
        )
        made.execute("CREATE TABLE gaps (id INTEGER, x REAL, y TEXT)")
        gaps = [(i, None if i in (1, 4) else i / 4, None if i == 3 else "y") for i in range(6)]
        made.executemany("INSERT INTO gaps VALUES (?, ?, ?)", gaps)
        made.execute("CREATE TABLE empty (id INTEGER)")
    made.close()
    PLACE["address"] = f"sqlite:///{path}"


def declare(query: str, *arguments: Any, **more: Any) -> ps.Dataset:
    return ps.Dataset.from_sql(query, PLACE["address"], *arguments, **more)


def number_of(row: Any) -> Any:
    return row["id"]


def opened(path: str) -> Any:
    import adbc_driver_sqlite.dbapi

    return adbc_driver_sqlite.dbapi.connect(path)


class TestFromSql(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        everything = "SELECT * FROM rows ORDER BY id"
        large = "SELECT id, zeroblob(100000) AS zeros FROM rows WHERE id < 8 ORDER BY id"
        return {
            "rows": lambda: declare(everything),
            "one at a time": lambda: declare(everything, 1),
            "a few at a time": lambda: declare(everything, 7),
            "parameters": lambda: declare(
                "SELECT id, name FROM rows WHERE id > ? AND name <> ? ORDER BY id", parameters=(30, "n40")
            ),
            "filled": lambda: declare("SELECT * FROM gaps ORDER BY id", fill_nulls={"x": -1.0, "y": ""}),
            "large": lambda: declare(large).map(number_of),
            "none": lambda: declare("SELECT * FROM empty"),
            "function": lambda: ps.Dataset.from_sql(
                "SELECT * FROM rows ORDER BY id", partial(opened, PLACE["address"].removeprefix("sqlite:///"))
            ),
        }

    def test_given_a_table_then_elements_are_dicts_by_column(self) -> None:
        got = list(declare("SELECT * FROM rows ORDER BY id DESC"))
        expected = [
            {"id": np.int64(i), "x": np.float64(i / 4), "name": f"n{i}", "raw": bytes(range(i))}
            for i in reversed(range(ROWS))
        ]
        assert same(got, expected)

    def test_given_parameters_by_name_then_they_take_their_places(self) -> None:
        ds = declare("SELECT id FROM rows WHERE id < :most ORDER BY id", parameters={":most": 3})
        assert [int(row["id"]) for row in ds] == [0, 1, 2]

    @pytest.mark.parametrize("rows", [1, 2, 64])
    def test_given_nulls_then_only_their_rows_fail_and_name_the_column(self, rows: int) -> None:
        ds = declare("SELECT * FROM gaps ORDER BY id")
        numbers = ds.map(lambda row: row["id"])
        assert events(numbers, block_rows=rows) == [0, FAILED, 2, FAILED, FAILED, 5]
        said = r"from_sql at .*test_from_sql.py:\d+, element 1: column 'x' is null.*fill_nulls=\{'x'"
        with pytest.raises(ps.errors.DataError, match=said):
            list(ds)
        assert len(list(ds.ignore_errors())) == 3

    def test_given_a_fill_for_no_column_then_the_columns_are_told(self) -> None:
        with pytest.raises(ps.errors.ArgumentTypeError, match=r"'z'.*columns are \['id', 'x', 'y'\]"):
            list(declare("SELECT * FROM gaps", fill_nulls={"z": 0}))
        with pytest.raises(ps.errors.ArgumentTypeError, match=r"'x'.*cannot be filled with 'none'"):
            list(declare("SELECT * FROM gaps", fill_nulls={"x": "none"}))

    @pytest.mark.parametrize("value", [0.5, "3", True, 2**63, None])
    def test_given_a_fill_that_the_column_cannot_hold_then_it_is_refused(self, value: Any) -> None:
        ds = declare("SELECT NULL AS a UNION ALL SELECT 1", fill_nulls={"a": value})
        said = rf"from_sql at .*: column 'a' of the type int64 cannot be filled with {value!r}.*COALESCE"
        with pytest.raises(ps.errors.ArgumentTypeError, match=said):
            list(ds)

    @pytest.mark.parametrize("other", ["'a'", "x'00ff'"])
    @pytest.mark.parametrize("form", ["{0} UNION ALL {1}", "{1} UNION ALL {0};", "{1} UNION ALL {0} -- all"])
    def test_given_numbers_among_text_then_no_digit_is_lost_without_a_word(
        self, other: str, form: str
    ) -> None:
        ds = declare(form.format("SELECT 7, 3.141592653589793 AS x", f"SELECT 8, {other} AS x"))
        with pytest.raises(ps.errors.ArgumentTypeError, match=r"from_sql at .*column 'x' .*digits.*CAST"):
            list(ds)

    def test_given_whole_numbers_among_floats_then_no_digit_is_lost_without_a_word(self) -> None:
        ds = declare("SELECT 0.5 AS x UNION ALL SELECT ?", 1, parameters=(2**53 + 1,))
        with ds.iterate() as it:
            assert next(it)["x"] == 0.5
            with pytest.raises(ps.errors.ArgumentTypeError, match=r"column 'x' .*double.*digits.*CAST"):
                next(it)
        exact = declare("SELECT 0.5 AS x UNION ALL SELECT ?", parameters=(2**53,))
        assert [float(row["x"]) for row in exact] == [0.5, 2.0**53]
        large = declare("SELECT 1e300 AS x UNION ALL SELECT 5")
        assert [float(row["x"]) for row in large] == [1e300, 5.0]

    def test_given_text_that_looks_like_a_number_cut_short_then_it_comes_as_it_is(self) -> None:
        ds = declare("SELECT '3.141593e+00' AS x UNION ALL SELECT 7")
        assert [row["x"] for row in ds] == ["3.141593e+00", "7"]
        cast = declare(
            "SELECT CAST(x AS REAL) AS x FROM (SELECT 3.141592653589793 AS x UNION ALL SELECT 'a')"
        )
        assert [float(row["x"]) for row in cast] == [3.141592653589793, 0.0]

    def test_given_several_statements_then_declaring_fails_and_shows_the_second(self) -> None:
        said = r"from_sql at .*test_from_sql.py:\d+: expected one statement, got 2.*'SELECT 2'"
        with pytest.raises(ps.errors.ArgumentError, match=said):
            declare("SELECT 1; SELECT 2")
        with pytest.raises(ps.errors.ArgumentError, match="empty"):
            declare("-- nothing;\n ; ;")

    @pytest.mark.parametrize("end", [";", " ;\n", "; -- that is all; really", "; /* no; more */ ;"])
    def test_given_one_statement_then_what_ends_it_does_not_matter(self, end: str) -> None:
        assert [row["x"] for row in declare("SELECT ';' AS x" + end)] == [";"]

    def test_given_a_value_of_another_type_than_the_first_ones_then_it_says_what_to_do(self) -> None:
        ds = declare("SELECT CASE WHEN id < 20 THEN id ELSE id + 0.5 END AS mixed FROM rows ORDER BY id", 10)
        it = iter(ds)
        assert [int(next(it)["mixed"]) for _ in range(20)] == list(range(20))
        with pytest.raises(ps.errors.StoreError, match=r"failed after 20 rows.*CAST it.*batch_rows"):
            next(it)

    @pytest.mark.parametrize("batch", [1, 7, 10, 24])
    @pytest.mark.parametrize("rows", [1, 64])
    def test_given_text_among_numbers_then_only_its_rows_fail(self, batch: int, rows: int) -> None:
        x = "CASE WHEN id IN (2, 3, 24) THEN 'it''s bad' WHEN id = 10 THEN x'00ff' ELSE x END AS x"
        query = f"SELECT id, {x}, name FROM rows WHERE id < ? ORDER BY id DESC; -- the last one first"
        ds = declare(query, batch, parameters=(49,))
        assert events(ds.map(lambda row: (row["id"], row["x"], row["name"])), block_rows=rows) == [
            FAILED if i in (2, 3, 10, 24) else (i, i / 4, f"n{i}") for i in reversed(range(49))
        ]
        said = (
            r"from_sql at .*, element 24: column 'x' has the text 'it''s bad', .* double.*CAST it.*batch_rows"
        )
        with pytest.raises(ps.errors.DataError, match=said):
            list(ds)
        assert len(list(ds.on_error("skip"))) == 45

    def test_given_text_among_numbers_and_nulls_then_each_says_what_it_is(self) -> None:
        x = "CASE WHEN id > 30 AND id % 2 THEN NULL WHEN id = 36 THEN 'a' ELSE x END AS x"
        query = f"SELECT id, {x} FROM rows WHERE id < 40 ORDER BY id"
        ids = [row["id"] for row in declare(query, 10).ignore_errors()]
        assert ids == [*range(31), 32, 34, 38]
        filled = declare(query, 10, fill_nulls={"x": -1.0}).ignore_errors()
        assert [row["id"] for row in filled] == [i for i in range(40) if i != 36]

    def test_given_text_among_numbers_of_a_query_that_cannot_be_asked_again_then_the_run_ends(self) -> None:
        x = "CASE WHEN id = 30 THEN 'a' ELSE random() END AS x"
        ds = declare(f"SELECT {x} FROM rows ORDER BY id", 10).ignore_errors()
        with pytest.raises(ps.errors.StoreError, match=r"other rows when it is asked again.*CAST"):
            list(ds)

    def test_given_no_such_file_then_none_is_made_and_the_error_names_it(self, tmp_path: Path) -> None:
        missing = tmp_path / "missing.db"
        for path in (missing, tmp_path):
            ds = ps.Dataset.from_sql("SELECT 1", f"sqlite:///{path}")
            with pytest.raises(
                ps.errors.StoreError, match=rf"from_sql at .*: cannot connect to .*{path.name}"
            ):
                list(ds)
        assert not missing.exists()

    def test_given_a_file_that_is_no_database_then_the_error_says_so(self, tmp_path: Path) -> None:
        (tmp_path / "text.db").write_text("this is no database at all, " * 50)
        with pytest.raises(ps.errors.PenstockError, match=r"from_sql at .*not a database"):
            list(ps.Dataset.from_sql("SELECT * FROM rows", f"sqlite:///{tmp_path}/text.db"))

    @pytest.mark.parametrize("query, said", [("SELEC 1", "syntax error"), ("SELECT * FROM nope", "nope")])
    def test_given_a_wrong_query_then_the_databases_words_are_told(self, query: str, said: str) -> None:
        with pytest.raises(ps.errors.ArgumentError, match=rf"from_sql at .*py:\d+: .*refuses.*{said}"):
            list(declare(query))

    def test_given_a_query_that_would_write_then_it_is_refused(self) -> None:
        with pytest.raises(ps.errors.StoreError, match="readonly"):
            list(declare("INSERT INTO rows (id) VALUES (1000) RETURNING id"))
        assert int(next(iter(declare("SELECT count(*) AS n FROM rows")))["n"]) == ROWS

    def test_given_wrong_arguments_then_declaring_fails_at_the_users_line(self) -> None:
        wrong: list[tuple[type[Exception], dict[str, Any], str]] = [
            (ps.errors.ArgumentTypeError, {"query": 5}, "query to be a text, got 5"),
            (ps.errors.ArgumentError, {"query": " ;"}, "empty"),
            (ps.errors.ArgumentError, {"connection": "mysql://u:pass@h/d"}, r"sqlite:///path.*u:\*\*\*@h/d"),
            (ps.errors.ArgumentError, {"connection": "sqlite:///"}, "sqlite:///path"),
            (ps.errors.ArgumentTypeError, {"connection": sqlite3}, "function that opens a connection"),
            (ps.errors.ArgumentTypeError, {"parameters": "abc"}, "parameters to be a tuple"),
            (ps.errors.ArgumentError, {"batch_rows": 0}, "at least 1"),
            (ps.errors.ArgumentTypeError, {"fill_nulls": ["x"]}, "fill_nulls to be a dict"),
        ]
        for kind, arguments, said in wrong:
            given = {"query": "SELECT 1", "connection": "sqlite:///x.db", **arguments}
            with pytest.raises(kind, match=rf"from_sql.* at .*test_from_sql.py:\d+: .*{said}"):
                ps.Dataset.from_sql(**given)

    def test_given_an_open_connection_then_declaring_fails_and_says_what_to_give(self) -> None:
        with closing(sqlite3.connect(":memory:")) as opened:
            assert callable(opened)
            with pytest.raises(ps.errors.ArgumentTypeError, match=r"such as sqlite:///path, or a function"):
                ps.Dataset.from_sql("SELECT 1", opened)  # type: ignore[arg-type]

    def test_given_a_function_that_opens_something_else_then_it_is_told(self) -> None:
        ds = ps.Dataset.from_sql("SELECT 1", lambda: 5)
        with pytest.raises(ps.errors.StoreError, match=r"connection of an ADBC driver.*got 5"):
            list(ds)

    def test_given_a_password_then_it_is_nowhere_to_be_seen(self) -> None:
        ds = ps.Dataset.from_sql("SELECT 1", "postgresql://me:s3cret@h:5/d?sslmode=on&password=s3cret")
        shown = f"{ds.explain()}{ds.op!r}{ds.op.describe()}{fingerprint(ds.op)}"
        assert "me:***@h:5/d" in shown
        assert "s3cret" not in shown

    def test_given_no_driver_then_the_error_says_what_to_install(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "adbc_driver_sqlite.dbapi", None)
        with pytest.raises(ps.errors.PenstockError, match=r"pip install '\.\[sql\]'"):
            list(declare("SELECT 1"))

    def test_given_large_rows_then_fewer_are_fetched_at_a_time(self) -> None:
        ds = declare("SELECT zeroblob(200000) AS zeros FROM rows")
        with ds.iterate(memory="4MiB") as it:
            assert sum(len(row["zeros"]) for row in it) == ROWS * 200_000
            assert it._run.ledger.peak < 1 << 20

    def test_given_a_batch_beyond_the_budget_then_the_error_says_how_many_rows_fit(self) -> None:
        grows = "SELECT zeroblob(CASE WHEN id < 20 THEN 1 ELSE 200000 END) AS zeros FROM rows ORDER BY id"
        for ds in (declare(grows), declare("SELECT zeroblob(200000) AS zeros FROM rows", ROWS)):
            with pytest.raises(ps.errors.BudgetError, match=r"from_sql at .*A batch_rows of at most 20 fits"):
                list(ds.with_options(ps.Options(memory="4MiB")))
        assert len(list(declare(grows, 20).with_options(ps.Options(memory="4MiB")))) == ROWS

    def test_given_first_values_of_several_types_then_they_get_a_common_one(self) -> None:
        ds = declare("SELECT CASE WHEN id < 3 THEN 1 ELSE 2.5 END AS x FROM rows ORDER BY id")
        assert [float(row["x"]) for row in ds.take(5)] == [1, 1, 1, 2.5, 2.5]
