"""What is printed: text, JSON, GitHub's commands, SARIF."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.doctor.lint import Finding, Outcome, Problem, lint_text, rules
from penstock.doctor.lint.formats import FORMATS
from penstock.doctor.lint.formats.github import github
from penstock.doctor.lint.formats.json import as_json
from penstock.doctor.lint.formats.sarif import sarif
from penstock.doctor.lint.formats.text import text

SHUFFLED = "import penstock as ps\nds = ps.Dataset.range(9).batch(3).shuffle(100)\n"


@pytest.fixture
def outcome() -> Outcome:
    return Outcome(lint_text(SHUFFLED, "a b/train.py"), [Problem("bad.py", 3, "not Python: x, y: 100%")], 2)


def test_given_findings_then_the_text_has_a_line_for_each_with_its_remedy_and_a_sum(outcome: Outcome) -> None:
    first, remedy, problem, total = text(outcome).splitlines()
    assert first.startswith("a b/train.py:2:6: PSK006 shuffle() comes after batch()")
    assert remedy == f"    fix: {rules()['PSK006'].fix}"
    assert problem == "bad.py:3: not Python: x, y: 100%"
    assert total.startswith("1 finding in 2 files; 1 path could not be looked at")


def test_given_findings_then_the_json_has_all_that_is_known_of_them(outcome: Outcome) -> None:
    told = json.loads(as_json(outcome))
    assert (told["status"], told["files"]) == (2, 2)
    (found,) = told["findings"]
    assert (found["path"], found["line"], found["column"], found["code"]) == ("a b/train.py", 2, 6, "PSK006")
    assert (found["level"], found["cell"], found["fix"]) == ("warning", None, rules()["PSK006"].fix)
    assert told["problems"] == [{"path": "bad.py", "line": 3, "message": "not Python: x, y: 100%"}]


def test_given_findings_then_githubs_commands_are_escaped_as_it_asks(outcome: Outcome) -> None:
    found, problem = github(outcome).splitlines()
    assert found.startswith(
        "::warning file=a b/train.py,line=2,endLine=2,col=6,endColumn=47,title=PSK006 shuffle"
    )
    assert "%0A" in found.split("::")[2]
    assert problem == "::error file=bad.py,line=3,title=penstock lint::not Python: x, y: 100%25"


def test_given_a_path_with_commas_and_colons_then_github_gets_it_escaped() -> None:
    found = Finding("a,b:c.py", 1, 1, 1, 2, "PSK010", "note", "said", "do")
    assert github(Outcome([found])).startswith("::notice file=a%2Cb%3Ac.py,line=1,")


def test_given_a_finding_in_a_notebook_then_github_gets_the_cell_in_words_and_no_line() -> None:
    found = Finding("a.ipynb", 3, 1, 3, 2, "PSK010", "note", "said", "do", cell=2)
    assert github(Outcome([found])) == (
        "::notice file=a.ipynb,title=PSK010 AUTOTUNE prefetch with no budget::cell 2, line 3: said%0Ado"
    )


def check_sarif(log: dict[str, Any]) -> None:
    """What the 2.1.0 standard requires of the properties that are used, section by section."""
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-2.1.0.json")  # 3.13.2, 3.13.3
    for run in log["runs"]:  # 3.13.4
        driver = run["tool"]["driver"]  # 3.14.6, 3.18.2
        assert driver["name"] and isinstance(driver["version"], str)  # 3.19.8
        assert run["columnKind"] in {"utf16CodeUnits", "unicodeCodePoints"}  # 3.14.17
        ids = [rule["id"] for rule in driver["rules"]]  # 3.49.3
        assert len(set(ids)) == len(ids)
        for rule in driver["rules"]:
            assert rule["shortDescription"]["text"] and rule["fullDescription"]["text"]  # 3.12.3
            assert rule["defaultConfiguration"]["level"] in {"none", "note", "warning", "error"}  # 3.50.3
        for result in run["results"]:  # 3.27
            assert result["message"]["text"]
            assert ids[result["ruleIndex"]] == result["ruleId"]
            assert result["level"] in {"none", "note", "warning", "error"}
            for location in result["locations"]:
                check_place(location["physicalLocation"])
        for invocation in run["invocations"]:  # 3.20.14
            assert isinstance(invocation["executionSuccessful"], bool)
            for notice in invocation["toolExecutionNotifications"]:
                assert notice["message"]["text"]  # 3.58.5


def check_place(place: dict[str, Any]) -> None:
    uri = place["artifactLocation"]["uri"]  # 3.4.3
    assert " " not in uri and "\\" not in uri
    if "region" in place:  # 3.30
        region = place["region"]
        assert all(isinstance(value, int) and value >= 1 for value in region.values())
        assert region.get("endLine", region["startLine"]) >= region["startLine"]


def test_given_findings_then_the_sarif_has_what_the_standard_requires(outcome: Outcome) -> None:
    log = json.loads(sarif(outcome))
    check_sarif(log)
    (result,) = log["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a%20b/train.py"
    assert place["region"] == {"startLine": 2, "startColumn": 6, "endLine": 2, "endColumn": 47}
    assert log["runs"][0]["invocations"][0]["executionSuccessful"] is False


def test_given_every_bad_example_then_every_format_takes_it() -> None:
    found = [one for rule in rules().values() for one in lint_text(rule.bad, f"{rule.code}.py")]
    whole = Outcome(found, files=len(rules()))
    check_sarif(json.loads(FORMATS["sarif"](whole)))
    assert len(json.loads(FORMATS["json"](whole))["findings"]) == len(rules())
    assert len(FORMATS["github"](whole).splitlines()) == len(rules())
    assert FORMATS["text"](whole).count(": PSK") == len(rules())
