"""Every rule: its examples, its page, its place in the guide."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock.doctor.lint import Rule, lint_text, rules
from penstock.doctor.lint.explain import page

ROOT = Path(__file__).parents[3]
ALL = list(rules().values())


def code_of(rule: Rule) -> str:
    return rule.code


@pytest.mark.parametrize("rule", ALL, ids=code_of)
def test_given_the_bad_example_then_it_gives_exactly_that_finding(rule: Rule) -> None:
    assert [found.code for found in lint_text(rule.bad)] == [rule.code]


@pytest.mark.parametrize("rule", ALL, ids=code_of)
def test_given_the_good_example_then_there_is_nothing_to_say(rule: Rule) -> None:
    assert lint_text(rule.good) == []


@pytest.mark.parametrize("rule", ALL, ids=code_of)
def test_given_a_rule_then_its_page_says_what_the_rule_says(rule: Rule) -> None:
    # To write it: penstock lint --explain CODE > docs/rules/CODE.md
    assert (ROOT / "docs" / "rules" / f"{rule.code}.md").read_text() == page(rule)


def test_given_the_pages_then_there_is_none_without_a_rule() -> None:
    assert {path.stem for path in (ROOT / "docs" / "rules").glob("*.md")} == set(rules())


def test_given_the_guide_then_its_table_is_that_of_the_rules() -> None:
    text = (ROOT / "docs" / "lint.md").read_text()
    rows = re.findall(r"^\| \[(PSK\d+)\]\(rules/PSK\d+\.md\) \| (.*) \| (\w+) \|$", text, re.MULTILINE)
    assert rows == [(rule.code, rule.title, rule.level) for rule in ALL]


@pytest.mark.parametrize("rule", ALL, ids=code_of)
def test_given_a_rule_then_its_texts_are_whole_sentences_and_its_names_are_its_own(rule: Rule) -> None:
    assert re.fullmatch(r"PSK\d{3}", rule.code)
    assert rule.why.endswith(".") and rule.fix.endswith(".")
    assert rule.sources and all(source.startswith("https://") for source in rule.sources)
    assert sum(other.name == rule.name or other.title == rule.title for other in ALL) == 1


@pytest.mark.parametrize("rule", ALL, ids=code_of)
def test_given_the_bad_example_of_a_rule_when_the_file_does_not_import_the_library_then_it_is_silent(
    rule: Rule,
) -> None:
    plain = re.sub(
        r"^(import|from) (tensorflow|keras|torch|jax|penstock).*\n", "", rule.bad, flags=re.MULTILINE
    )
    assert lint_text(plain) == []
