"""Every kind of finding has a remedy and a page; signals are found by themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.cli.main import main
from penstock.doctor.explain import page
from penstock.doctor.remedies import Remedy, remedies
from penstock.doctor.signals import Look, Signal, made_classes, signals

PAGES = Path(__file__).parents[2] / "docs" / "findings"


@pytest.mark.parametrize("kind", sorted(remedies()))
def test_given_a_kind_then_its_page_says_what_its_remedy_says(kind: str) -> None:
    # To write it: penstock doctor --explain KIND > docs/findings/KIND.md
    assert (PAGES / f"{kind}.md").read_text() == page(remedies()[kind])
    assert f"({kind}.md)" in (PAGES / "index.md").read_text()


def test_given_a_page_then_it_has_all_that_the_remedy_knows() -> None:
    text = page(Remedy("a-kind", "Its title", "because", "do that", "better()", "worse()", "by eye", "this"))
    for part in ("# Its title\n`a-kind`\n", "\nworse()\n", "\nbetter()\n", "** because\n", "** do that\n"):
        assert part in text
    assert text.endswith("** by eye\n\n**What it is not.** this\n")


def test_when_a_kind_is_explained_then_its_page_is_printed_and_no_script_is_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["doctor", "--explain", "threads"])
    assert not ended.value.code
    assert capsys.readouterr().out == (PAGES / "threads.md").read_text()
    with pytest.raises(SystemExit):
        main(["doctor", "--explain", "all"])
    assert capsys.readouterr().out.count("**What it is not.**") == len(remedies())


def test_when_a_kind_that_is_none_is_explained_then_those_there_are_are_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["doctor", "--explain", "thread"])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "Expected a kind of finding, got 'thread'" in said and "threads" in said


def test_given_the_pages_then_there_is_none_without_a_kind() -> None:
    assert {path.stem for path in PAGES.glob("*.md")} - {"index"} == set(remedies())


def test_given_every_signal_then_its_kind_is_known_and_its_key_its_own() -> None:
    known = signals()
    assert {one.kind for one in known if one.kind} <= set(remedies())
    assert set(made_classes()) <= set(remedies())
    assert len({one.key for one in known}) == len(known)


def test_given_a_signal_of_a_library_that_was_not_imported_then_it_is_not_read() -> None:
    read: list[Look] = []
    signal = Signal("x", "threads", "x", 1, lambda look: read.append(look) or 1.0, needs="no.such.library")
    assert signal.value(Look()) is None
    assert read == []


def test_given_a_signal_that_fails_then_the_others_go_on() -> None:
    signal = Signal("x", "threads", "x", 1, lambda _: 1 / 0)
    assert signal.value(Look()) is None
