"""Every figure of a report is in its place."""

from __future__ import annotations

import dataclasses

import pytest

from penstock.report.report import Chosen, OpReport, Report

OP = OpReport(
    name="map",
    declared="map(f)",
    elements=2000,
    failed=1,
    held=1 << 10,
    peak=2 << 10,
    seconds=1.5,
    notes=("a",),
)
REPORT = Report(
    budget=64 << 20,
    held=3 << 20,
    peak=16 << 20,
    seconds=7.25,
    lent_elements=1,
    lent_bytes=5 << 20,
    holders=("`kept`, a list of 1",),
    idle=6 << 10,
    idle_peak=7 << 10,
    ops=(OP,),
    changes=(),
)


def test_given_figures_that_all_differ_then_each_is_where_it_belongs() -> None:
    head, line, op, idle, total, *rest = str(REPORT).splitlines()
    assert head.split() == ["op", "elements", "held", "now", "at", "most", "time"]
    assert set(line) == {"-", " "}
    assert op.split() == ["map", "2,000", "1", "KiB", "2", "KiB", "1.500", "s"]
    assert idle.split() == ["idle", "buffers", "6", "KiB", "7", "KiB"]
    assert total.split() == ["all", "at", "one", "time", "3", "MiB", "16", "MiB", "7.250", "s"]
    assert rest == [
        "budget 64 MiB, at most 25% of it used at one time",
        "lent to your code: 1 element, 5 MiB",
        "  kept by `kept`, a list of 1",
        "map: 1 element failed",
        "map: a",
    ]


def test_given_nothing_lent_or_used_then_the_report_says_no_more_than_that() -> None:
    empty = dataclasses.replace(REPORT, lent_elements=0, holders=(), peak=0, ops=())
    assert str(empty).splitlines()[-1] == "budget 64 MiB, at most 0% of it used at one time"


@pytest.mark.parametrize(
    ("value", "what", "said"),
    [
        (1, "blocks ready", "1 block ready: because"),
        (2, "blocks ready", "2 blocks ready: because"),
        (1, "calls at once", "1 call at once: because"),
        (1000, "rows a block", "1,000 elements at a time, at most: because"),
    ],
)
def test_given_a_number_that_was_chosen_then_it_is_said_in_words(value: int, what: str, said: str) -> None:
    op = dataclasses.replace(OP, chosen=(Chosen(what, value, "because"),))
    assert f"map: {said}" in str(dataclasses.replace(REPORT, ops=(op,))).splitlines()
