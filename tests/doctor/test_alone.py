"""Checks of what the doctor sees in a whole process, each file in a process that has nothing else in it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent


@pytest.mark.parametrize("name", ["checks_walk.py", "checks_watch.py"])
def test_given_a_process_of_its_own_then_all_checks_pass(name: str) -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        str(FOLDER / name),
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=FOLDER.parents[1])
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
