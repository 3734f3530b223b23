"""Code that runs in a Python process of its own."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path


def printed_by(code: str, folder: Path) -> str:
    """What the code prints in that folder; it has to come to its end."""
    command = [sys.executable, "-c", textwrap.dedent(code)]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran
    return ran.stdout
