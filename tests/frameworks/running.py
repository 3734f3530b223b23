"""Checks that need a framework run in a process of their own, all of a file in one.

A framework stays in the process that has loaded it, with its threads and its memory, and Keras chooses its
backend once. So a file `checks_*.py` has functions, and a test asks how each of them went.
"""

from __future__ import annotations

import ast
import gc
import json
import os
import re
import runpy
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
SIGN = "@@ "
LONGEST = 1000
"""Seconds after which a process has hung, on however busy a machine."""


def names_in(file: str) -> list[str]:
    """The checks of a file, in order."""
    tree = ast.parse((HERE / file).read_text())
    return [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("given_")
    ]


def run_checks(scope: dict[str, Any], file: str) -> None:
    """Run all checks of a file, in the process that was started for it, and print how each went."""
    for name in names_in(file):
        check: Callable[[], None] = scope[name]
        try:
            check()
            said = ""
        except BaseException:
            said = traceback.format_exc()
        print(f"\n{SIGN}{json.dumps([name, said])}", flush=True)


@cache
def pool() -> ThreadPoolExecutor:
    """Two processes at a time."""
    return ThreadPoolExecutor(2)


@cache
def started(file: str, **environment: str) -> Future[dict[str, str]]:
    """The checks of a file, at work in a process with these variables."""
    return pool().submit(_outcomes, file, environment)


def outcomes(file: str, **environment: str) -> dict[str, str]:
    """What each check of a file said, in a process with these variables: nothing if it held."""
    return started(file, **environment).result()


def _outcomes(file: str, environment: dict[str, str]) -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, str(HERE / file)],
        capture_output=True,
        text=True,
        timeout=LONGEST,
        env={**os.environ, **quiet(), **environment},
    )
    lines = [line.removeprefix(SIGN) for line in done.stdout.splitlines() if line.startswith(SIGN)]
    said: dict[str, str] = dict(map(json.loads, lines))
    for name in names_in(file):
        said.setdefault(name, f"the process ended before it, with {done.returncode}: {done.stderr[-2000:]}")
    return said


def memory_and_threads() -> tuple[int, int]:
    """The bytes and the threads that this process has now."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE"), len(list(Path("/proc/self/task").iterdir()))


def guide_code(name: str) -> list[str]:
    """The code in a guide that needs a framework: the others run in the tests' own process."""
    found = re.findall(r"^```py\n(.*?)^```", (DOCS / name).read_text(), re.DOTALL | re.MULTILINE)
    assert found
    return found


def run_guide(name: str) -> None:
    """Run that code, one block after another, from a file: TensorFlow reads the source of functions."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / f"{name}.py"
        script.write_text("\n\n".join(guide_code(name)))
        runpy.run_path(str(script), run_name="__main__")


def quiet() -> dict[str, str]:
    """What keeps TensorFlow quiet, and away from a GPU."""
    tests = str(HERE.parent)
    return {
        "CUDA_VISIBLE_DEVICES": "-1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TF_ENABLE_ONEDNN_OPTS": "0",
        "PYTHONPATH": os.pathsep.join(filter(None, [tests, os.environ.get("PYTHONPATH", "")])),
    }
