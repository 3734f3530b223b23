"""`Dataset.from_sql` on a real PostgreSQL server."""

from __future__ import annotations

import collections
import contextlib
import pickle
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace
from typing import Any

import adbc_driver_postgresql.dbapi as driver
import numpy as np
import pytest

import penstock as ps
from contract.op_contract import BLOCK_ROWS, drain, same
from contract.streams import FAILED, events
from penstock.io.formats.sql import Asked, SqlReader
from penstock.io.formats.sql_queries import start_query

NUMBERS = "SELECT i::int8 AS id, i * 0.5::float8 AS x, 'name-' || i AS name FROM generate_series(0, {}) AS i"
MANY = "SELECT generate_series(0, {}) AS i"
"""Rows that the server makes as it goes."""
STUCK = (
    "SELECT i, CASE WHEN i = 19000 THEN pg_sleep(600)::text ELSE '' END AS t "
    f"FROM ({MANY.format(99_999)}) AS many"
)
"""The first batch, of 14 bytes a row, comes at once, and soon after it the server sleeps."""
SLEEPY = "SELECT pg_sleep($1)::text AS t"

Ask = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def ask(postgres: str) -> Iterator[Ask]:
    """Asks the server over another connection."""
    with driver.connect(postgres, autocommit=True) as connection, connection.cursor() as cursor:

        def answer(query: str) -> list[tuple[Any, ...]]:
            cursor.execute(query)
            return list(cursor.fetchall())

        yield answer


def others(ask: Ask, state: str = "true") -> list[int]:
    """The backends that serve somebody else, of those that are in that state."""
    found = ask(
        "SELECT pid FROM pg_stat_activity "
        f"WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND {state}"
    )
    return [pid for (pid,) in found]


def until(ask: Ask, wanted: Callable[[], bool]) -> bool:
    """Whether it comes true: looked at a hundred times a second, for some seconds."""
    return any(wanted() or ask("SELECT 1 FROM pg_sleep(0.01)") is None for _ in range(1500))


def test_given_every_kind_of_column_then_elements_have_its_dtype(postgres: str) -> None:
    query = """
        SELECT 1::int2 AS i2, 2::int4 AS i4, 3::int8 AS i8, 1.5::float4 AS f4, 2.5::float8 AS f8,
          true AS yes, 'grün'::text AS t, '\\x00ff'::bytea AS b, '12.25'::numeric AS n, '{"a": 1}'::json AS j,
          DATE '2024-02-29' AS d, TIMESTAMP '2024-02-29 12:00:00.5' AS ts, ARRAY[1, 2, 3] AS a,
          ARRAY['x', 'yy'] AS s
    """
    (element,) = ps.Dataset.from_sql(query, postgres)
    expected = {
        "i2": np.int16(1),
        "i4": np.int32(2),
        "i8": np.int64(3),
        "f4": np.float32(1.5),
        "f8": np.float64(2.5),
        "yes": np.True_,
        "t": "grün",
        "b": b"\x00\xff",
        "n": np.float64(12.25),
        "j": '{"a": 1}',
        "d": np.datetime64("2024-02-29", "D"),
        "ts": np.datetime64("2024-02-29T12:00:00.500000", "us"),
        "a": np.array([1, 2, 3], np.int32),
        "s": np.array(["x", "yy"], object),
    }
    for name, value in expected.items():
        assert same(element[name], value), name
    assert list(element) == list(expected)


@pytest.mark.parametrize("parameters", [None, (-1,)])
@pytest.mark.parametrize("end", ["", ";", "\n;\n", " -- all of them"])
def test_given_blocks_of_every_size_then_all_rows_come_in_order(
    postgres: str, parameters: Any, end: str
) -> None:
    where = " WHERE i > $1" if parameters else ""
    ds = ps.Dataset.from_sql(
        NUMBERS.format(9_999) + where + " ORDER BY i" + end, postgres, parameters=parameters
    )
    expected = [{"id": np.int64(i), "x": np.float64(i * 0.5), "name": f"name-{i}"} for i in range(10_000)]
    assert same(drain(ds, limit=20_000), expected)
    for rows in BLOCK_ROWS:
        got = drain(ds.with_options(ps.Options(block_rows=rows)), limit=300)
        assert same(got, expected[:300])


@pytest.mark.parametrize("batch_rows", [1, 7, 5000, None])
def test_given_parameters_of_several_types_then_they_take_their_places(
    postgres: str, batch_rows: int | None
) -> None:
    query = NUMBERS.format(999) + " WHERE i < $1 AND 'name-' || i <> $2 AND i * 0.5 > $3 ORDER BY i"
    ds = ps.Dataset.from_sql(query, postgres, batch_rows, parameters=(20, "name-13", 4.75))
    assert [int(row["id"]) for row in pickle.loads(pickle.dumps(ds))] == [10, 11, 12, *range(14, 20)]


def test_given_rows_that_grow_then_a_cursor_fetches_fewer_of_them(postgres: str) -> None:
    query = (
        "SELECT repeat('x', CASE WHEN i < 5000 THEN 1 ELSE 10000 END) AS t FROM generate_series(1, $1) AS i"
    )
    with driver.connect(postgres) as connection:
        fetched = start_query(connection, query, (7000,), 100_000, None)
        sizes = [batch.num_rows for batch in iter(fetched.next, None)]
        fetched.close()
    assert sizes[:6] == [1, 4, 16, 64, 256, 1024]
    assert max(sizes) == 1024
    # One batch may have been asked for before its rows were seen to be large.
    assert sorted(sizes[-100:])[-2] <= 10
    assert sum(sizes) == 7000


@pytest.mark.parametrize("parameters", [None, (0,)])
def test_given_nulls_then_only_their_rows_fail_and_name_the_column(postgres: str, parameters: Any) -> None:
    query = (
        "SELECT i, CASE WHEN i % 3 = 1 THEN NULL ELSE i END AS a, "
        "CASE WHEN i = 5 THEN NULL ELSE 'x' END AS b FROM generate_series(0, 6) AS i"
        + (" WHERE i >= $1" if parameters else "")
    )
    ds = ps.Dataset.from_sql(query, postgres, parameters=parameters)
    numbers = ds.map(lambda row: row["i"])
    assert events(numbers) == [0, FAILED, 2, 3, FAILED, FAILED, 6]
    with pytest.raises(
        ps.errors.DataError, match=r"from_sql at .*py:\d+, element 1: column 'a' is null"
    ) as caught:
        list(ds)
    assert (caught.value.op, caught.value.number) == ("from_sql", 1)
    filled = ps.Dataset.from_sql(query, postgres, parameters=parameters, fill_nulls={"a": -1, "b": "none"})
    assert [(int(row["a"]), row["b"]) for row in filled][4:6] == [(-1, "x"), (5, "none")]


def test_given_an_address_where_nobody_listens_then_it_says_so_and_hides_the_password() -> None:
    ds = ps.Dataset.from_sql("SELECT 1", "postgresql://me:secret@127.0.0.1:1/db?password=hidden")
    with pytest.raises(
        ps.errors.StoreError, match=r"from_sql at .*py:\d+: cannot connect to .*refused"
    ) as caught:
        list(ds)
    assert "secret" not in str(caught.value) + str(ds.explain()) + repr(ds.op)
    assert "hidden" not in str(caught.value) + str(ds.explain()) + repr(ds.op)


@pytest.mark.parametrize("parameters", [None, (1,)])
@pytest.mark.parametrize("query, said", [("SELEC 1", "syntax error"), ("SELECT * FROM nowhere", "nowhere")])
def test_given_a_wrong_query_then_the_databases_words_are_told(
    postgres: str, ask: Ask, query: str, said: str, parameters: Any
) -> None:
    ds = ps.Dataset.from_sql(query, postgres, parameters=parameters)
    with pytest.raises(ps.errors.ArgumentError, match=rf"from_sql at .*py:\d+: .*refuses the query.*{said}"):
        list(ds)
    assert until(ask, lambda: others(ask) == [])


@pytest.mark.parametrize(
    "query, said",
    [
        ("SELECT 1 AS n, point(1, 2) AS p", "column 'p' has the type point"),
        ("SELECT interval '1 day' AS i", "column 'i' has the type"),
        ("SELECT 1 AS a, 2 AS a", r"columns \['a'\] are there more than once"),
    ],
)
def test_given_a_type_that_has_no_column_then_it_is_named(
    postgres: str, ask: Ask, query: str, said: str
) -> None:
    ds = ps.Dataset.from_sql(query, postgres)
    with pytest.raises(ps.errors.ArgumentTypeError, match=rf"from_sql at .*py:\d+: .*{said}.*CAST"):
        list(ds)
    assert until(ask, lambda: others(ask) == [])


def test_given_a_query_that_fails_midway_then_the_rows_before_it_come_first(postgres: str, ask: Ask) -> None:
    ds = ps.Dataset.from_sql("SELECT 1 / (100000 - i) AS a FROM generate_series(0, 200000) AS i", postgres)
    seen = 0
    with pytest.raises(ps.errors.StoreError, match=r"failed after \d+ rows: .*division by zero"):
        for _ in ds:
            seen += 1
    assert 0 < seen <= 100_000
    assert until(ask, lambda: others(ask) == [])


@pytest.mark.parametrize("parameters", [None, (200_000,)])
def test_given_a_connection_that_is_cut_then_the_error_names_the_op_and_nothing_is_left(
    postgres: str, ask: Ask, parameters: Any
) -> None:
    query = "SELECT i FROM generate_series(0, " + ("$1" if parameters else "200000") + ") AS i"
    ds = ps.Dataset.from_sql(query, postgres, parameters=parameters)
    with ds.iterate() as it:
        next(it)
        (backend,) = others(ask)
        assert ask(f"SELECT pg_terminate_backend({backend}, 5000)") == [(True,)]
        with pytest.raises(
            ps.errors.StoreError, match=r"from_sql at .*py:\d+: the query failed after \d+ rows"
        ):
            for _ in it:
                pass
        held = it._run.ledger.held
    assert held == 0
    assert others(ask) == []


@pytest.mark.parametrize("parameters", [None, (10**9,)])
def test_when_a_loop_is_left_early_then_the_connection_is_closed(
    postgres: str, ask: Ask, parameters: Any
) -> None:
    ds = ps.Dataset.from_sql(MANY.format("$1" if parameters else 10**9), postgres, parameters=parameters)
    with ds.iterate() as it:
        next(it)
        assert until(ask, lambda: len(others(ask)) == 1)  # the one before may just be ending
    assert until(ask, lambda: others(ask) == [])
    for _ in ds:
        break
    assert until(ask, lambda: others(ask) == [])


def test_when_a_loop_is_left_while_the_server_works_then_the_query_ends_there(
    postgres: str, ask: Ask
) -> None:
    with ps.Dataset.from_sql(STUCK, postgres).iterate() as it:
        next(it)  # it goes on meanwhile, as far as the buffers between us let it
        assert until(ask, lambda: others(ask, "wait_event = 'PgSleep'") != [])
    assert until(ask, lambda: others(ask) == [])


@pytest.mark.parametrize("query, parameters", [("SELECT pg_sleep(600)::text AS t", None), (SLEEPY, (600,))])
def test_when_it_is_to_end_while_a_thread_waits_for_the_server_then_both_let_go(
    postgres: str, ask: Ask, query: str, parameters: Any
) -> None:
    ends: list[Callable[[], None]] = []
    context: Any = SimpleNamespace(
        block_bytes=1 << 20, label="sql", where="sql", on_close=lambda end: ends.append(end) or (lambda: None)
    )
    reader = SqlReader(Asked(postgres, query, parameters, None, {}), context)
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(reader.pull, 1)
        assert until(ask, lambda: others(ask, "wait_event = 'PgSleep'") != [])
        ends[0]()
        with pytest.raises(ps.errors.ClosedError):
            waiting.result()
    reader.close()
    assert until(ask, lambda: others(ask) == [])


def test_when_all_rows_are_read_then_the_connection_is_closed_before_the_run_is(
    postgres: str, ask: Ask
) -> None:
    with ps.Dataset.from_sql("SELECT 1 AS a", postgres).iterate() as it:
        assert len(list(it)) == 1
        assert until(ask, lambda: others(ask) == [])


def test_given_a_function_then_every_iteration_opens_a_connection_of_its_own(postgres: str) -> None:
    opened = []

    def connect() -> Any:
        opened.append(driver.connect(postgres))
        return opened[-1]

    ds = ps.Dataset.from_sql("SELECT 7 AS a", connect)
    assert opened == []
    assert [events(ds.map(lambda row: row["a"])) for _ in range(2)] == [[7], [7]]
    assert len(opened) == 2
    portable = ps.Dataset.from_sql("SELECT 7 AS a", partial(driver.connect, postgres))
    assert len(list(pickle.loads(pickle.dumps(portable)))) == 1


def test_when_a_run_is_closed_while_a_thread_waits_for_the_server_then_both_let_go(
    postgres: str, ask: Ask
) -> None:
    threads = set(threading.enumerate())
    it = ps.Dataset.from_sql("SELECT pg_sleep(600)::text AS t", postgres).prefetch(2).iterate()
    waiting = threading.Thread(target=lambda: collections.deque(_quietly(it), maxlen=0))
    waiting.start()
    assert until(ask, lambda: others(ask, "wait_event = 'PgSleep'") != [])
    it.close()
    waiting.join()
    assert until(ask, lambda: others(ask) == [] and set(threading.enumerate()) <= threads)


def _quietly(it: Iterator[Any]) -> Iterator[Any]:
    with contextlib.suppress(ps.errors.ClosedError):
        yield from it
