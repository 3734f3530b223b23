"""Every kind of finding has a remedy and a page; signals are found by themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.doctor.remedies import remedies
from penstock.doctor.signals import Look, Signal, made_classes, signals

PAGES = Path(__file__).parents[2] / "docs" / "findings"


@pytest.mark.parametrize("kind", sorted(remedies()))
def test_given_a_kind_then_its_page_says_why_and_how_to_mend_it(kind: str) -> None:
    remedy, text = remedies()[kind], (PAGES / f"{kind}.md").read_text()
    assert text.startswith(f"# {remedy.title}\n`{kind}`\n")
    assert remedy.why in text
    assert remedy.fix in text
    assert remedy.sample in text
    assert f"({kind}.md)" in (PAGES / "index.md").read_text()


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
