"""The command itself, as a process: help, exit status, JSON, and what a terminal is shown."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from cli.inspected import flip
from contract.frames import framed
from penstock.cli.inspecting import looking
from penstock.cli.inspecting.looking import Progress
from penstock.cli.main import COMMANDS, main

DOCUMENT = Path(__file__).parents[2] / "docs" / "inspect.md"


def penstock(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "penstock", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **settings}, timeout=120
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.tfrecord"
    path.write_bytes(framed(*[ps.io.serialize_example({"x": [i]}) for i in range(1234)]))
    return path


def test_when_help_is_asked_for_then_every_command_has_a_line_and_an_example() -> None:
    done = penstock("--help", COLUMNS="80")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    for command in COMMANDS:
        assert any(line.split(maxsplit=1) == [command.NAME, command.SUMMARY] for line in lines)
        assert any(line.startswith(f"  penstock {command.NAME} ") for line in lines)


def test_given_no_command_then_all_of_them_are_listed_and_the_status_is_2() -> None:
    done = penstock()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == penstock("--help").stdout


def test_when_help_is_asked_for_then_a_command_shows_examples() -> None:
    done = penstock("inspect", "--help")
    assert done.returncode == 0
    for word in ("examples:", "--records N", "--samples N", "--json", "exit status: 0"):
        assert word in done.stdout
    assert max(len(line) for line in done.stdout.splitlines()) <= 100


def test_when_the_version_is_asked_for_then_it_is_that_of_the_package() -> None:
    assert penstock("--version").stdout == f"penstock {ps.__version__}\n"


@pytest.mark.parametrize("arguments", [(), ("inspect",), ("inspect", "x", "--samples", "-1"), ("bogus",)])
def test_given_a_wrong_call_then_the_usage_is_shown_and_the_status_is_2(arguments: tuple[str, ...]) -> None:
    done = penstock(*arguments)
    assert (done.returncode, done.stdout, "usage: penstock" in done.stderr) == (2, "", True)


def test_given_good_damaged_and_missing_files_then_the_exit_status_says_so(file: Path) -> None:
    good = penstock("inspect", str(file))
    assert (good.returncode, good.stderr) == (0, "")
    assert "1,234 records, " in good.stdout
    assert "no damage found" in good.stdout
    flip(file, 14)
    damaged = penstock("inspect", str(file))
    assert damaged.returncode == 1
    assert f"{file}, byte 0, record 0: the checksum" in damaged.stdout
    assert penstock("inspect", str(file), str(file) + "x").returncode == 2


def test_when_json_is_asked_for_then_it_has_the_keys_that_are_documented(file: Path) -> None:
    flip(file, 14)
    done = penstock("inspect", str(file), "--json", "--samples", "1")
    said = json.loads(done.stdout)
    (found,) = said["found"]
    assert (done.returncode, said["status"], found["status"]) == (1, 1, 1)
    assert (found["records"], found["damaged"], found["damage"][0]["offset"]) == (1234, 1, 0)
    assert found["columns"][0]["range"] == [1, 1233]
    assert found["samples"] == [{"x": "1"}]
    documented = set(re.findall(r"^\| `(\w+)` \|", DOCUMENT.read_text(), re.MULTILINE))
    parts: list[dict[str, Any]] = [found, found["columns"][0], found["files"][0], found["damage"][0]]
    assert set(said) | {key for part in parts for key in part} == documented


def test_given_a_reader_that_has_enough_then_the_command_ends_quietly(file: Path) -> None:
    code = f"{sys.executable} -m penstock inspect {file} | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


def on_terminal(code: str, **settings: str) -> str:
    """What a terminal is shown by a Python program."""
    here, there = pty.openpty()
    env = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    try:
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdout=there,
            stderr=there,
            stdin=there,
            env={**env, "TERM": "xterm", **settings},
        )
    finally:
        os.close(there)
    shown = b""
    try:
        while piece := os.read(here, 4096):
            shown += piece
    except OSError:  # how Linux says that nobody has the terminal open any more
        pass
    finally:
        os.close(here)
        assert process.wait(timeout=60) == 0
    return shown.decode()


def test_given_a_terminal_then_there_are_colours_unless_they_are_not_wanted(file: Path) -> None:
    code = f"import sys; from penstock.cli.main import main; sys.exit(main(['inspect', {str(file)!r}]))"
    colour = re.compile(r"\x1b\[\d+m")
    assert colour.search(on_terminal(code))
    assert not colour.search(on_terminal(code, NO_COLOR="1"))


def test_given_a_terminal_then_progress_is_shown_for_what_takes_long_and_wiped_out(file: Path) -> None:
    code = (
        "import sys\nfrom penstock.cli.inspecting import looking\nfrom penstock.cli.main import main\n"
        f"looking.AFTER = looking.EVERY = 0\nsys.exit(main(['inspect', {str(file)!r}]))"
    )
    shown = on_terminal(code, NO_COLOR="1")
    assert "a.tfrecord: 100 % of" in shown
    assert shown.index("% of") < shown.index("\r\x1b[K", shown.index("% of")) < shown.index("1,234 records")


def test_given_less_than_a_second_or_no_terminal_then_no_progress_is_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(looking.time, "monotonic", lambda: now[0])
    progress, quiet = Progress(shown=True), Progress(shown=False)
    now[0] += 0.9
    progress.step("a", 1, 2)
    assert capsys.readouterr().err == ""
    now[0] += 0.2
    quiet.step("a", 1, 2)
    assert capsys.readouterr().err == ""
    progress.step("a", 1, 2)
    assert "a: 50 % of 2 B" in capsys.readouterr().err


def test_given_names_with_control_characters_then_the_terminal_does_not_get_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a\x1b[31m.tfrecord"
    path.write_bytes(framed(ps.io.serialize_example({"x\x1b[2J": [1]})))
    assert main(["inspect", str(path)]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_given_a_folder_without_python_then_lint_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.txt").write_text("no code\n")
    assert main(["lint", str(tmp_path)]) == 0
    assert f"no Python files or notebooks in {tmp_path}" in capsys.readouterr().err


def test_given_a_file_that_is_no_python_then_lint_says_what_it_takes_and_looks_at_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, script, code = tmp_path / "x.json", tmp_path / "train", tmp_path / "a.py"
    data.write_text('{"a": [1, 2]}')
    for one in (script, code):
        one.write_text("import penstock as ps\nds = ps.Dataset.range(9).shuffle(1)\n")
    assert main(["lint", str(data), str(script), str(code)]) == 2
    said = capsys.readouterr().out
    assert f"{data}: expected Python (.py) or a notebook (.ipynb)" in said
    assert "2 findings in 2 files; 1 path could not be looked at" in said


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_given_a_byte_order_mark_then_inspect_takes_it_for_no_part_of_the_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    text = "city,people\nOslo,7\n" if name == "a.csv" else '{"city": "Oslo"}\n'
    (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert main(["inspect", str(tmp_path / name), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["found"]
    assert found["columns"][0]["name"] == "city"
