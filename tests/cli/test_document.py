"""What `docs/inspect.md` shows is what the command prints."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from penstock.cli.main import main

TEXT = (Path(__file__).parents[2] / "docs" / "inspect.md").read_text()


def test_given_the_commands_of_the_document_then_they_print_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for block in re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE):
        exec(block, {})
    commands = re.findall(r"^```console\n\$ penstock (.*?)\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    assert commands
    for command, shown in commands:
        main(shlex.split(command))
        assert capsys.readouterr().out == shown
