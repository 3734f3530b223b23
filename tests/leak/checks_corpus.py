"""The doctor against scripts that leak, and scripts that only look as if they did.

Each script is run as a user would run it, two at a time. One that leaks says in its first lines which kind of
finding is expected, and in which line.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

CORPUS = Path(__file__).parent / "corpus"
LEAKY = sorted((CORPUS / "leaky").glob("*.py"))
CLEAN = sorted((CORPUS / "clean").glob("*.py"))
FRAMEWORKS = {"torch": "torch", "jax": "jax", "tf": "tensorflow", "keras": "keras"}
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu", "PYTHONWARNINGS": "ignore"}


def examined(path: Path) -> tuple[int, dict[str, Any]]:
    """The exit status of the doctor, and what it says."""
    done = subprocess.run(
        [sys.executable, "-m", "penstock", "doctor", "--json", str(path)],
        capture_output=True,
        text=True,
        env={**os.environ, **QUIET},
        timeout=280,
    )
    assert done.stdout, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    assert said["script_status"] == 0, done.stderr
    return done.returncode, said


def missing(path: Path) -> str:
    name = FRAMEWORKS.get(path.stem.partition("_")[0], "")
    return name if name and find_spec(name) is None else ""


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest) -> Iterator[dict[Path, Future[tuple[int, dict[str, Any]]]]]:
    """What comes of the scripts that were selected: all are begun at once, two at a time."""
    asked = [
        item.callspec.params["path"]
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == Path(__file__) and hasattr(item, "callspec")
    ]
    with ThreadPoolExecutor(2) as pool:
        yield {path: pool.submit(examined, path) for path in asked if not missing(path)}


def name_of(path: Path) -> str:
    return path.stem


@pytest.mark.parametrize("path", LEAKY, ids=name_of)
def test_given_a_script_that_leaks_then_kind_and_line_are_found(path: Path, outcomes: Any) -> None:
    if missing(path):
        pytest.skip(f"needs {missing(path)}")
    text = path.read_text()
    kind = re.findall(r"^# kind: (.*)$", text, re.MULTILINE)
    line = re.findall(r"^# line: (\d+)$", text, re.MULTILINE)
    status, said = outcomes[path].result()
    found = [(one["kind"], one["line"]) for one in said["findings"]]
    assert (status, found) == (1, [(kind[0], int(line[0]))]), said["reason"]
    assert Path(said["findings"][0]["file"]).name == path.name


@pytest.mark.parametrize("path", CLEAN, ids=name_of)
def test_given_a_script_that_only_looks_like_a_leak_then_there_is_no_finding(
    path: Path, outcomes: Any
) -> None:
    if missing(path):
        pytest.skip(f"needs {missing(path)}")
    status, said = outcomes[path].result()
    assert [(one["kind"], one["line"], one["what"]) for one in said["findings"]] == []
    assert status == 0, said["reason"]


def test_given_the_corpus_then_the_line_in_the_header_is_the_one_that_is_marked() -> None:
    assert len(LEAKY) >= 25
    assert len(CLEAN) >= 15
    for path in LEAKY:
        lines = path.read_text().splitlines()
        marked = [number for number, line in enumerate(lines, 1) if line.endswith("# <-")]
        assert f"# line: {marked[0]}" in lines, path.name
        assert len(marked) == 1
