"""Files and folders: what is looked at, what cannot be, and notebooks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.doctor.lint import Config, lint_paths

BAD = "import penstock as ps\nds = ps.Dataset.range(9).shuffle(1)\n"


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_py", ".py").replace("_ipynb", ".ipynb")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_given_a_folder_then_the_users_files_are_looked_at_and_the_rest_is_not(tmp_path: Path) -> None:
    for name in ("a.py", "in/b.py", ".git/c.py", "venv/d.py", "__pycache__/e.py", "mine/f.py", "notes.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(BAD)
    (tmp_path / "mine" / "pyvenv.cfg").write_text("")
    outcome = lint_paths([str(tmp_path)])
    assert [Path(found.path).relative_to(tmp_path).as_posix() for found in outcome.findings] == [
        "a.py",
        "in/b.py",
    ]
    assert (outcome.files, outcome.status) == (2, 1)


def test_given_a_file_named_twice_then_it_is_looked_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(BAD)
    outcome = lint_paths([str(tmp_path / "a.py"), str(tmp_path)])
    assert (outcome.files, len(outcome.findings)) == (1, 1)


def test_given_a_file_that_is_named_then_its_ending_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "train").write_text(BAD)
    assert len(lint_paths([str(tmp_path / "train")]).findings) == 1


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"import torch\nfor x in:\n", "not Python: invalid syntax"),
        (b"import torch\nx = '\xff'\n", "cannot be read as text"),
        (b"# coding: bogus\n", "cannot be read as text: unknown encoding"),
        (b"import torch\0\n", "not Python: source code string cannot contain null bytes"),
        (b"import penstock\nx = " + b"(" * 5000 + b")" * 5000, "not Python|nested too deeply"),
    ],
    ids=["syntax", "bytes", "encoding", "null", "deep"],
)
def test_given_a_file_that_is_not_python_then_it_is_said_and_the_rest_is_looked_at(
    tmp_path: Path, raw: bytes, said: str
) -> None:
    (tmp_path / "a.py").write_bytes(raw)
    (tmp_path / "b.py").write_text(BAD)
    outcome = lint_paths([str(tmp_path)])
    (problem,) = outcome.problems
    assert problem.path.endswith("a.py")
    assert any(part in problem.message for part in said.split("|"))
    assert (len(outcome.findings), outcome.status) == (1, 2)


def test_given_a_syntax_error_then_its_line_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\n\nfor x in:\n")
    (problem,) = lint_paths([str(tmp_path)]).problems
    assert (problem.line, str(problem)) == (3, f"{tmp_path}/a.py:3: not Python: invalid syntax")


def test_given_a_path_that_does_not_exist_then_it_is_said_and_the_rest_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / "b.py").write_text(BAD)
    outcome = lint_paths([str(tmp_path / "nowhere"), str(tmp_path)])
    assert [problem.message for problem in outcome.problems] == ["no such file or folder"]
    assert (len(outcome.findings), outcome.status) == (1, 2)


def test_given_another_encoding_and_carriage_returns_then_the_lines_are_right(tmp_path: Path) -> None:
    lines = [
        "# coding: latin-1",
        "import penstock as ps",
        "name = '\xe9'",
        "ds = ps.Dataset.range(9).shuffle(1)",
    ]
    text = "\r\n".join(lines)
    (tmp_path / "a.py").write_bytes(text.encode("latin-1"))
    (found,) = lint_paths([str(tmp_path)]).findings
    assert found.line == 4


def test_given_code_that_warns_when_it_is_parsed_then_nothing_is_printed_about_it(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(BAD + "x = '\\d'\n")
    assert len(lint_paths([str(tmp_path)]).findings) == 1


def notebook(*cells: str) -> str:
    made = [{"cell_type": "code", "source": text.splitlines(keepends=True)} for text in cells]
    made.insert(1, {"cell_type": "markdown", "source": ["# not code"]})
    return json.dumps({"cells": made, "nbformat": 4})


def test_given_a_notebook_then_names_go_from_cell_to_cell_and_the_finding_names_the_cell(
    tmp_path: Path,
) -> None:
    cells = (
        "%pip install x\nimport penstock as ps\n",
        "!ls\nds = ps.Dataset.range(9)\n",
        "\nds.shuffle(1)  \n",
    )
    (tmp_path / "a.ipynb").write_text(notebook(*cells))
    (found,) = lint_paths([str(tmp_path)]).findings
    assert (found.cell, found.line, found.column) == (4, 2, 1)
    assert f"{tmp_path}/a.ipynb:cell 4:2:1: PSK007" in str(found)


def test_given_a_notebook_then_noqa_works_in_its_cells(tmp_path: Path) -> None:
    cells = ("import penstock as ps\n", "ps.Dataset.range(9).shuffle(1)  # noqa: PSK007\n")
    (tmp_path / "a.ipynb").write_text(notebook(*cells))
    assert lint_paths([str(tmp_path)]).findings == []


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"cells": [{"cell_type": "code"}]}', "{"])
def test_given_a_broken_notebook_then_it_is_said(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.ipynb").write_text(text)
    (problem,) = lint_paths([str(tmp_path)]).problems
    assert problem.message.startswith("not a notebook of format 4")


def test_given_a_notebook_with_an_error_then_the_cell_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_text(notebook("import torch\n", "x = 1\nx = = 2\n"))
    (problem,) = lint_paths([str(tmp_path)]).problems
    assert (problem.line, problem.message) == (2, "in cell 3, not Python: invalid syntax")


def test_given_patterns_then_what_they_mean_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, a_py=BAD, tests__b_py=BAD, tests__deep__c_py=BAD, d_py=BAD)
    outcome = lint_paths([str(tmp_path)], Config(exclude=("tests", "d.*")))
    assert [Path(found.path).name for found in outcome.findings] == ["a.py"]
