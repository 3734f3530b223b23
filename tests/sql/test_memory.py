"""A query of many rows under a budget, measured from outside the process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize(
    "database, rows, mebibytes",
    [("postgresql", 5_000_000, 64), ("postgresql with parameters", 1_000_000, 4), ("sqlite", 1_000_000, 4)],
)
@pytest.mark.usefixtures("postgres")  # says what is missing where there is no server
def test_given_a_query_of_many_rows_then_the_process_stays_within_the_budget(
    database: str, rows: int, mebibytes: int
) -> None:
    limits = ["--one", database, "--rows", str(rows), "--mebibytes", str(mebibytes)]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.sql", *limits],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    seen = json.loads(done.stdout)
    # The rows alone, 8 + 8 + about 12 bytes each, would take more than that.
    assert 0 < seen["peak"] <= seen["bound"] < rows * 28 + (24 << 20)
