"""`python -m benchmarks.sql`: a query of five million rows under a budget, seen from outside the process.

A real PostgreSQL server is started for it (`tests/sql/server.py` says where its binaries are looked for).
Idle is after the import of all that the run needs: Penstock, pyarrow and the drivers. The server is
another process and does not count. `--one DATABASE --rows N --mebibytes N` measures one, and prints JSON.
"""

import argparse
import importlib
import json
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks import procfs
from benchmarks.memory.pipeline import MIB, bound

ROOT = Path(__file__).parent.parent
DATABASES = {
    "postgresql": "SELECT i::int8 AS id, i * 0.5::float8 AS x, 'name-' || i AS name "
    "FROM (SELECT generate_series(0, {last}) AS i) AS numbers",
    "postgresql with parameters": "SELECT i::int8 AS id, i * 0.5::float8 AS x, 'name-' || i AS name "
    "FROM (SELECT generate_series(0, $1::int8) AS i) AS numbers",
    "sqlite": "WITH RECURSIVE numbers(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM numbers WHERE i < {last}) "
    "SELECT i AS id, i * 0.5 AS x, 'name-' || i AS name FROM numbers",
}
NEEDED = (
    "adbc_driver_postgresql.dbapi",
    "adbc_driver_sqlite.dbapi",
    "penstock",
    "penstock.io.formats.sql_rows",
)


def main() -> None:
    """Measure all databases, or one."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sql", description=__doc__)
    parser.add_argument("--one", choices=DATABASES)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--mebibytes", type=int, default=64)
    parser.add_argument("--child", metavar="ADDRESS", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.one, options.child, options.rows, options.mebibytes)
    elif options.one:
        print(json.dumps(measured(options.one, options.rows, options.mebibytes)))
    else:
        print("| database | rows | budget | bound | peak over idle | time |\n|---|---|---|---|---|---|")
        for database in DATABASES:
            seen = measured(database, options.rows, options.mebibytes)
            print(
                f"| {database} | {options.rows:,} | {options.mebibytes} MiB | {seen['bound'] / MIB:.1f} MiB "
                f"| {seen['peak'] / MIB:.1f} MiB | {seen['seconds']:.1f} s |"
            )


def measured(database: str, rows: int, mebibytes: int) -> dict[str, Any]:
    """The most bytes over idle that a process had while it read the query, and the seconds it took."""
    with tempfile.TemporaryDirectory() as folder:
        if database == "sqlite":
            empty = Path(folder) / "empty.db"
            empty.touch()
            return watched(database, f"sqlite:///{empty}", rows, mebibytes)
        server = subprocess.Popen(
            [sys.executable, ROOT / "tests" / "sql" / "server.py"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        with server:  # its standard input ends with it, and so does the server
            assert server.stdout is not None
            return watched(database, server.stdout.readline().strip(), rows, mebibytes)


def watched(database: str, address: str, rows: int, mebibytes: int) -> dict[str, Any]:
    """Start the child, and read its memory when it is idle and when it is done."""
    arguments = ["--one", database, "--rows", str(rows), "--mebibytes", str(mebibytes), "--child", address]
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.sql", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    with process:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.readline()
        procfs.forget_highest_rss(process.pid)
        idle = procfs.rss(process.pid)
        process.stdin.write("go\n")
        process.stdin.flush()
        seconds = json.loads(process.stdout.readline())
        peak = procfs.highest_rss(process.pid) - idle
    return {"bound": bound(mebibytes * MIB), "peak": peak, "seconds": seconds}


def child(database: str, address: str, rows: int, mebibytes: int) -> None:
    """Load all that is needed, then read the rows in batches when told to, and check that all came."""
    for name in NEEDED:
        importlib.import_module(name)
    import penstock as ps

    print("idle", flush=True)
    sys.stdin.readline()
    began = time.perf_counter()
    query = DATABASES[database].format(last=rows - 1)
    parameters = (rows - 1,) if "$1" in query else None
    ds = ps.Dataset.from_sql(query, address, parameters=parameters).batch(1000)
    count = total = 0
    with closing(ds.iterate(memory=mebibytes * MIB)) as batches:
        for batch in batches:
            count += len(batch["name"])
            total += int(batch["id"].sum())
    if (count, total) != (rows, rows * (rows - 1) // 2):
        raise ValueError(f"Expected {rows} rows, got {count} with the sum {total}.")
    print(json.dumps(time.perf_counter() - began), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
