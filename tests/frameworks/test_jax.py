"""The checks of `as_jax`, in a process of their own: once JAX is loaded, a process had better not fork."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="needs JAX")
def test_given_jax_then_its_checks_pass() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(HERE / "checks_jax.py")]
    done = subprocess.run(command, cwd=HERE.parents[1], capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout[-6000:]
    assert " passed" in done.stdout and "skipped" not in done.stdout
