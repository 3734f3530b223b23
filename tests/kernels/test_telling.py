"""What a terminal is told while kernels are compiled."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import penstock.kernels.compiled
from numba import njit

own = njit(lambda x: x + 1)
own.py_func.__module__ = {module!r}
own(1)
own(1.5)
"""


def said_on_a_terminal(tmp_path: Path, module: str) -> str:
    """What a script writes to a terminal that compiles two versions of a function of that module."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    try:
        subprocess.run(
            [sys.executable, "-c", SCRIPT.format(module=module)], stderr=theirs, env=environment, check=True
        )
        os.write(theirs, b"end\n")
        said = b""
        while not said.endswith(b"end\r\n"):
            said += os.read(ours, 1024)
    finally:
        os.close(ours)
        os.close(theirs)
    return said.removesuffix(b"end\r\n").decode()


@pytest.mark.parametrize(
    ("module", "times"), [("penstock.kernels.compiled.other", 1), ("a_script_of_the_user", 0)]
)
def test_when_kernels_are_compiled_then_a_terminal_is_told_once(
    tmp_path: Path, module: str, times: int
) -> None:
    assert said_on_a_terminal(tmp_path, module).count("once on this machine") == times
