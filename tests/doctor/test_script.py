"""`penstock doctor` as a process: status, output, JSON, steps, the page."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli.main import main

LEAK = """
import sys, time
kept = []
def train(step):
    kept.append(bytearray(20_000))
for step in range(int(sys.argv[1])):
    train(step)
    time.sleep(0.004)
print("args", sys.argv[1:], "name", __name__)
print("to stderr", file=sys.stderr)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(LEAK)
    return path


def doctor(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "penstock", "doctor", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ, timeout=240)


def test_given_a_script_that_leaks_then_status_1_and_the_report_names_line_and_chain(script: Path) -> None:
    done = doctor(str(script), "300", "--lr", "0.1")
    assert done.returncode == 1, done.stderr
    assert done.stdout == "args ['300', '--lr', '0.1'] name __main__\n"
    assert "to stderr\n" in done.stderr
    assert "train.py:5: kept.append(bytearray(20_000))" in done.stderr
    assert "`kept` in `train.py:3`, a list of bytearray that grows by 1 a step" in done.stderr
    assert re.search(r"at this rate the .* are full after about [\d,]+ steps", done.stderr)
    assert "[growing-container]" in done.stderr


def test_given_json_then_stdout_is_json_alone_and_has_the_keys_of_the_document(script: Path) -> None:
    done = doctor("--json", str(script), "300")
    said = json.loads(done.stdout)
    assert said["status"] == done.returncode == 1
    assert "args ['300']" in done.stderr
    (finding,) = said["findings"]
    assert (finding["kind"], finding["line"], Path(finding["file"]).name) == (
        "growing-container",
        5,
        "train.py",
    )
    assert finding["growth"]["low"] <= 1 <= finding["growth"]["high"] + 0.02
    assert finding["bytes_each"] == pytest.approx(20_000, rel=0.1)
    document = (Path(__file__).parents[2] / "docs" / "doctor.md").read_text()
    for key in [*said, *finding, *finding["growth"], *finding["forecast"]]:
        assert f"`{key}`" in document or key in ("penstock", "script"), key


def test_given_a_number_of_steps_then_the_script_is_ended_there(script: Path) -> None:
    done = doctor("--json", "--steps", "120", str(script), "1000000")
    said = json.loads(done.stdout)
    assert said["script_status"] == 0
    assert done.returncode == 1
    assert "args" not in done.stderr
    assert said["findings"][0]["curve"]["x"][-1] < 2000


def test_given_a_page_then_it_stands_alone_and_shows_curve_line_and_chain(
    script: Path, tmp_path: Path
) -> None:
    done = doctor("--html", str(tmp_path / "report.html"), str(script), "300")
    page = (tmp_path / "report.html").read_text()
    assert done.returncode == 1
    assert page.count("<polyline") >= 2
    assert "kept.append(bytearray(20_000))" in page
    assert "<code>kept</code> in the module" in page
    assert not re.search(r"(src|href)=|https?://|@import|url\(", page)


def test_given_a_script_that_fails_then_status_2_and_its_traceback_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_text("def f():\n    raise ValueError('no such shard')\nf()\n")
    done = doctor("--json", str(path))
    assert done.returncode == 2
    assert json.loads(done.stdout)["script_status"] == 1
    assert "ValueError: no such shard" in done.stderr
    assert "runpy" not in done.stderr


@pytest.mark.parametrize("code", [0, 3])
def test_given_a_script_that_exits_then_its_own_status_is_kept_in_the_report(
    tmp_path: Path, code: int
) -> None:
    path = tmp_path / "ends.py"
    path.write_text(f"import sys\nsys.exit({code})\n")
    done = doctor("--json", str(path))
    assert done.returncode == 2
    said = json.loads(done.stdout)
    assert said["script_status"] == code
    assert said["reason"].startswith("the script failed with status 3") == (code == 3)


def test_given_no_such_script_then_it_says_so() -> None:
    done = doctor("nowhere/train.py")
    assert done.returncode == 2
    assert "there is no such file" in done.stderr


def test_given_a_script_that_imports_a_neighbour_then_it_is_found_and_its_lines_too(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text(
        "import time\nseen = {}\ndef go(n):\n    for i in range(n):\n        seen[i] = bytes(9000)\n"
        "        time.sleep(0.004)\n"
    )
    (tmp_path / "train.py").write_text("import loop\nloop.go(300)\n")
    said = json.loads(doctor("--json", str(tmp_path / "train.py")).stdout)
    (finding,) = said["findings"]
    assert (Path(finding["file"]).name, finding["line"]) == ("loop.py", 5)


def test_given_a_page_that_cannot_be_written_then_the_script_does_not_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "train.py"
    script.write_text("raise SystemExit('it ran')\n")
    assert main(["doctor", "--html", str(tmp_path / "nowhere" / "page.html"), str(script)]) == 2
    said = capsys.readouterr().err
    assert "there is no folder" in said and "it ran" not in said


def test_given_a_folder_then_it_is_said_that_it_is_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", str(tmp_path)]) == 2
    assert "that is a folder" in capsys.readouterr().err
