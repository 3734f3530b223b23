"""Every example runs by itself, as a user would run it, says something, and its memory stays flat."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from frameworks.running import LONGEST, quiet

pytestmark = pytest.mark.timeout(2 * LONGEST)  # some wait for others

EXAMPLES = Path(__file__).parents[1] / "examples"
FILES = sorted(path.name for path in EXAMPLES.glob("*.py") if not path.name.startswith("_"))
BACKENDS = ("tensorflow", "torch", "jax")
ON_ALL_BACKENDS = "keras_augmentation.py"
FLAT = 48 << 20
"""So much more memory a process may have at the end of an example than in the middle of it."""


def needs_framework(name: str) -> bool:
    """Whether an example loads a framework: these take seconds to start, and write to stderr as they like."""
    text = (EXAMPLES / name).read_text()
    return re.search(r"^import (jax|keras|tensorflow|torch)\b", text, re.MULTILINE) is not None


PLAIN = [name for name in FILES if name != "digits.py" and not needs_framework(name)]
FRAMEWORK = [(name, "tensorflow") for name in FILES if needs_framework(name)]
FRAMEWORK += [(ON_ALL_BACKENDS, backend) for backend in BACKENDS if backend != "tensorflow"]


@dataclass
class Done:
    """What came of a run: what it said, and its memory, seen from outside, at each line."""

    code: int
    out: list[str]
    err: str
    memory: list[int]


def run(name: str, *arguments: str, backend: str = "") -> str:
    done = watched(name, *arguments, backend=backend)
    assert done.code == 0, done.err
    if not backend:
        assert done.err == ""
    grown = done.memory[-1] - done.memory[len(done.memory) // 2]
    assert grown < FLAT, f"{grown >> 20} MiB more at the end than in the middle"
    return "".join(done.out)


def watched(name: str, *arguments: str, backend: str = "") -> Done:
    warnings = [] if backend else ["-W", "error"]
    process = subprocess.Popen(
        [sys.executable, *warnings, str(EXAMPLES / name), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **quiet(), "KERAS_BACKEND": backend or "tensorflow"},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    out, memory = [], [0]
    with process, ThreadPoolExecutor(1) as reader:
        err = reader.submit(process.stderr.read)
        for line in process.stdout:
            out.append(line)
            memory.append(memory_of(process.pid) or memory[-1])
        return Done(process.wait(LONGEST), out, err.result(), memory)


def memory_of(pid: int) -> int:
    """The bytes that a process has now; 0 if it has ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


@cache
def started() -> dict[tuple[str, str], Future[str]]:
    """All examples that need a framework, two at a time."""
    pool = ThreadPoolExecutor(2)
    return {(name, backend): pool.submit(run, name, backend=backend) for name, backend in FRAMEWORK}


@pytest.mark.parametrize("name", PLAIN)
def test_given_an_example_then_it_runs_and_its_memory_is_flat(name: str) -> None:
    assert run(name)


@pytest.mark.parametrize(("name", "backend"), FRAMEWORK)
def test_given_an_example_of_a_framework_then_it_runs_and_its_memory_is_flat(name: str, backend: str) -> None:
    said = started()[name, backend].result(timeout=LONGEST)
    if "import held" in (EXAMPLES / name).read_text():
        assert "MiB in this process" in said
    if name == ON_ALL_BACKENDS:
        assert f"Keras on {backend}" in said


@pytest.mark.parametrize("name", [name for name in FILES if name != "digits.py"])
def test_given_an_example_then_it_is_short_and_in_the_list(name: str) -> None:
    assert len((EXAMPLES / name).read_text().splitlines()) <= 64
    assert f"({name})" in (EXAMPLES / "README.md").read_text()


def test_given_the_demo_then_it_learns_the_digits_within_its_budget() -> None:
    out = run("digits.py")
    accuracy = re.findall(r"test accuracy\s+([\d.]+) %", out)
    assert float(accuracy[-1]) >= 95
    held = re.search(r"most held\s+([\d.]+) MiB of ([\d.]+) MiB", out)
    assert held is not None
    assert float(held[1]) <= float(held[2])


def test_given_the_demo_when_asked_for_help_then_every_option_is_there() -> None:
    out = run("digits.py", "--help")
    assert all(option in out for option in ("--epochs", "--memory", "--seed", "--data"))
