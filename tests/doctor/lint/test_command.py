"""`penstock lint` as a command: status, formats, explanations, what it loads."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli.main import main
from penstock.doctor.lint import rules
from penstock.doctor.lint.explain import page
from penstock.doctor.lint.flake8 import Plugin

ROOT = Path(__file__).parents[3]
DOCUMENT = (ROOT / "docs" / "lint.md").read_text()
BAD = "import penstock as ps\nds = ps.Dataset.range(9).shuffle(1)\n"


@pytest.fixture
def bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "train.py"
    path.write_text(BAD)
    return path


def test_given_clean_wrong_and_broken_files_then_the_exit_status_says_so(
    bad: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (bad.parent / "clean.py").write_text("import penstock\n")
    (bad.parent / "broken.py").write_text("def\n")
    statuses = [main(["lint", name]) for name in ("clean.py", "train.py", "broken.py", "nowhere", ".")]
    assert statuses == [0, 1, 2, 2, 2]
    assert capsys.readouterr().err == ""


def test_given_no_path_then_the_folder_is_looked_at(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint"]) == 1
    assert capsys.readouterr().out.startswith("train.py:2:6: PSK007 ")


def test_given_options_then_they_choose_the_rules(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = (
        ["--ignore", "PSK007"],
        ["--select", "PSK2,PSK1"],
        ["--exclude", "train.*"],
        ["--select", "PSK007"],
    )
    assert [main(["lint", ".", *one]) for one in asked] == [0, 0, 0, 1]


def test_given_a_project_file_then_the_command_keeps_to_it(bad: Path) -> None:
    (bad.parent / "pyproject.toml").write_text('[tool.penstock.lint]\nignore = ["PSK007"]\n')
    assert main(["lint", str(bad)]) == 0


def test_given_a_wrong_code_then_the_status_is_2_and_nothing_is_read(
    bad: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lint", ".", "--select", "PSK9"]) == 2
    assert "no rule begins with 'PSK9'" in capsys.readouterr().err


def test_given_a_format_and_a_file_then_the_file_has_it(
    bad: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lint", ".", "--format", "sarif", "--output", "lint.sarif"]) == 1
    assert capsys.readouterr().out == ""
    assert json.loads(Path("lint.sarif").read_text())["runs"][0]["results"][0]["ruleId"] == "PSK007"


def test_given_nothing_to_say_then_github_is_told_nothing(
    bad: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lint", ".", "--ignore", "PSK", "--format", "github"]) == 0
    assert capsys.readouterr().out == ""


def test_when_a_rule_is_explained_then_its_page_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "--explain", "psk006"]) == 0
    assert capsys.readouterr().out == page(rules()["PSK006"])
    assert main(["lint", "--explain", "all"]) == 0
    assert re.findall(r"^# (PSK\d+)", capsys.readouterr().out, re.MULTILINE) == list(rules())


def test_given_a_terminal_then_progress_is_shown_and_wiped(bad: Path) -> None:
    screen, terminal = pty.openpty()
    command = [sys.executable, "-m", "penstock", "lint", "."]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=terminal, text=True, timeout=120)
    os.close(terminal)
    shown = ""
    with contextlib.suppress(OSError):  # that is how a terminal ends
        while part := os.read(screen, 10_000):
            shown += part.decode()
    os.close(screen)
    assert "0 files, train.py" in shown and shown.endswith("\r\x1b[K")
    assert done.stdout.startswith("train.py:2:6: PSK007")


def test_given_the_commands_of_the_document_then_they_print_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", DOCUMENT, re.DOTALL | re.MULTILINE)
    exec(next(block for block in blocks if "write_text" in block), {})
    commands = re.findall(r"^```console\n\$ penstock (.*?)\n(.*?)^```", DOCUMENT, re.DOTALL | re.MULTILINE)
    assert commands
    for command, shown in commands:
        main(shlex.split(command))
        assert capsys.readouterr().out == shown


def test_when_penstock_is_imported_then_lint_is_not_loaded_and_lint_loads_no_framework() -> None:
    code = (
        "import json, sys, penstock\n"
        "early = [name for name in sys.modules if '.lint' in name]\n"
        "import penstock.doctor.lint\n"
        "penstock.doctor.lint.lint_text('import torch, jax, keras, tensorflow')\n"
        "print(json.dumps([early, sorted({name.split('.')[0] for name in sys.modules})]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    early, loaded = json.loads(done.stdout)
    assert early == []
    assert {"tensorflow", "torch", "jax", "keras", "numba", "flake8"} & set(loaded) == set()


def test_given_flake8s_arguments_then_the_plugin_gives_line_column_and_code() -> None:
    import ast

    found = list(Plugin(tree=ast.parse(BAD), lines=BAD.splitlines(keepends=True)).run())
    assert [(line, column, message[:6], kind) for line, column, message, kind in found] == [
        (2, 5, "PSK007", Plugin)
    ]


def test_given_the_hook_for_pre_commit_then_it_names_a_command_that_there_is() -> None:
    text = (ROOT / ".pre-commit-hooks.yaml").read_text()
    assert re.findall(r"^- id: (.*)$", text, re.MULTILINE) == ["penstock-lint"]
    entry = re.findall(r"^  entry: (.*)$", text, re.MULTILINE)
    assert entry == ["penstock lint"]
    with pytest.raises(SystemExit) as ended:
        main([*shlex.split(entry[0])[1:], "--help"])
    assert ended.value.code == 0


@pytest.mark.parametrize("where", ["nowhere/found.txt", "."])
def test_given_a_file_that_cannot_be_written_then_it_is_said_and_the_status_is_2(
    bad: Path, capsys: pytest.CaptureFixture[str], where: str
) -> None:
    assert main(["lint", bad.name, "--output", where]) == 2
    assert "Expected a file to write to" in capsys.readouterr().err
