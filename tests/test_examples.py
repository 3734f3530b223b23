"""Every example runs by itself, as a user would run it, and says something."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
FILES = sorted(path.name for path in EXAMPLES.glob("*.py") if not path.name.startswith("_"))


def run(name: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("name", [name for name in FILES if name != "digits.py"])
def test_given_an_example_then_it_runs(name: str) -> None:
    assert run(name)


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
