"""Which rules and lines: `# noqa`, `--select`, `--ignore`, `pyproject.toml`."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.doctor.lint import Config, lint_paths, lint_text, rules
from penstock.doctor.lint.config import load
from penstock.errors import ArgumentError

TWO = "import penstock as ps\nds = ps.Dataset.range(9).batch(3).shuffle(1){comment}\n"


def codes(comment: str = "", asked: list[str] | None = None) -> list[str]:
    return [found.code for found in lint_text(TWO.format(comment=comment), codes=asked)]


def test_given_two_mistakes_on_a_line_then_both_are_found() -> None:
    assert codes() == ["PSK006", "PSK007"]


@pytest.mark.parametrize(
    ("comment", "left"),
    [
        ("  # noqa", []),
        ("  # NOQA", []),
        ("  #noqa  because", []),
        ("  # noqa: PSK006", ["PSK007"]),
        ("  # noqa: psk006,PSK007", []),
        ("  # noqa: E501 PSK007", ["PSK006"]),
        ("  # noqa: E501", ["PSK006", "PSK007"]),
        ("  # type: ignore  # noqa: PSK006, PSK007", []),
        ("  # nothing", ["PSK006", "PSK007"]),
    ],
)
def test_given_a_noqa_then_it_silences_what_it_names(comment: str, left: list[str]) -> None:
    assert codes(comment) == left


@pytest.mark.parametrize("line", [5, 6])
def test_given_a_call_over_several_lines_then_noqa_stands_on_its_first_or_last_line(line: int) -> None:
    lines = [
        "import penstock as ps",
        "ds = (",
        "    ps.Dataset.range(9)",
        "    .batch(3)",
        "    .shuffle(",
        "        9)",
        ")",
    ]
    assert len(lint_text("\n".join(lines))) == 1
    lines[line - 1] += "  # noqa: PSK006"
    assert lint_text("\n".join(lines)) == []


def test_given_codes_then_only_these_rules_are_used() -> None:
    assert codes(asked=["PSK007"]) == ["PSK007"]


def test_given_a_beginning_then_all_codes_that_begin_so_are_meant() -> None:
    assert Config(select=("PSK1", "psk201")).codes("a.py") == [
        code for code in rules() if code.startswith("PSK1") or code == "PSK201"
    ]
    assert Config(select=("ALL",), ignore=("PSK",)).codes("a.py") == []


@pytest.mark.parametrize("wrong", ["E501", "PSK999", ""])
def test_given_a_code_that_does_not_exist_then_the_error_names_those_that_do(wrong: str) -> None:
    with pytest.raises(ArgumentError, match=r"no rule begins with .*PSK001, PSK002"):
        Config(select=(wrong,)).codes("a.py")


def project(folder: Path, text: str) -> Path:
    (folder / "pyproject.toml").write_text(text)
    (folder / "train.py").write_text(TWO.format(comment=""))
    (folder / "tests").mkdir()
    (folder / "tests" / "test_a.py").write_text(TWO.format(comment=""))
    return folder


def found(folder: Path, config: Config) -> list[tuple[str, str]]:
    return [(Path(one.path).name, one.code) for one in lint_paths([str(folder)], config).findings]


def test_given_a_project_file_then_it_says_which_rules_and_files(tmp_path: Path) -> None:
    text = '[tool.penstock.lint]\nignore = ["PSK007"]\nexclude = ["test_*.py"]\n'
    assert found(project(tmp_path, text), load(tmp_path / "tests")) == [("train.py", "PSK006")]


def test_given_ignores_for_some_files_then_they_hold_for_these_only(tmp_path: Path) -> None:
    text = '[tool.penstock.lint.per-file-ignores]\n"tests/*" = ["PSK006"]\n'
    assert found(project(tmp_path, text), load(tmp_path)) == [
        ("train.py", "PSK006"),
        ("train.py", "PSK007"),
        ("test_a.py", "PSK007"),
    ]


def test_given_a_project_file_without_the_table_then_the_one_above_counts(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.penstock.lint]\nselect = ["PSK2"]\n')
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert load(tmp_path / "inner").select == ("PSK2",)


def test_given_the_command_line_then_it_replaces_select_and_adds_to_the_rest() -> None:
    config = Config(("PSK0",), ("PSK001",), ("a",)).over(["PSK2"], ["PSK201"], ["b"])
    assert (config.select, config.ignore, config.exclude) == (("PSK2",), ("PSK001", "PSK201"), ("a", "b"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tool.penstock.lint]\nselct = []\n", "knows exclude, ignore, per-file-ignores, select, not selct"),
        ('[tool.penstock.lint]\nselect = "PSK1"\n', "select is to be a list of strings, got 'PSK1'"),
        ("[tool.penstock.lint]\nignore = ['X1']\n", "no rule begins with 'X1'"),
        ("[tool.penstock.lint]\nper-file-ignores = []\n", "per-file-ignores is to be a table"),
        ("[tool.penstock]\nlint = 3\n", "is to be a table, got int"),
        ("[tool\n", "Expected ']'"),
    ],
)
def test_given_a_wrong_project_file_then_the_error_names_the_file_and_what_is_wrong(
    tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(ArgumentError) as caught:
        load(tmp_path)
    assert said in str(caught.value) and str(tmp_path / "pyproject.toml") in str(caught.value)
