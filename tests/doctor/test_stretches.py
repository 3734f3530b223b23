"""Loops one after another, and what growth is counted by in them."""

from __future__ import annotations

from inspect import CO_GENERATOR
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.doctor.axis import axis_of
from penstock.doctor.book import Book
from penstock.doctor.diagnose import _lent, _with_line, merged
from penstock.doctor.findings import Axis, Finding
from penstock.doctor.places import Loop, Place
from penstock.doctor.remedies import remedies
from penstock.doctor.rounds import Counts
from penstock.doctor.verdict import Growth
from penstock.doctor.watching import Watching


def test_given_a_moment_elsewhere_then_the_loop_before_and_after_it_is_one() -> None:
    spans = [("a", range(10)), ("b", range(10, 12)), ("a", range(12, 30))]
    assert merged(spans) == [("a", range(30))]


def test_given_a_loop_that_lasts_in_between_then_there_are_three() -> None:
    spans = [("a", range(10)), ("b", range(10, 15)), ("a", range(15, 30))]
    assert merged(spans) == spans


def book_of(steps: list[dict[str, float]]) -> Book:
    book = Book()
    for number, one in enumerate(steps):
        book.open(float(number), "a", one)
        book.close()
    return book


@pytest.mark.parametrize(("every", "name"), [(1, "optimizer steps"), (10, "rounds of the loop over `step`")])
def test_given_steps_that_are_too_coarse_then_the_loop_is_counted_by(every: int, name: str) -> None:
    loop = "loop train.py:3 step"
    book = book_of([{"optimizer steps": float(n // every), loop: float(n)} for n in range(40)])
    assert axis_of(book, range(40)).name == name


@pytest.mark.parametrize(
    ("epochs", "batches", "name"), [(40, 4, "epoch"), (10, 4, "batch"), (10, 1, "epoch"), (4, 1, "second")]
)
def test_given_loops_then_the_outermost_is_counted_by_that_is_not_much_coarser_than_the_moments(
    epochs: int, batches: int, name: str
) -> None:
    def steps(n: int) -> dict[str, float]:
        every = 40 // epochs
        inner = {"loop train.py:3 batch": float(n * batches)} if batches > 1 else {}
        return {**inner, "loop train.py:2 epoch": float(n // every)}

    axis = axis_of(book_of([steps(n) for n in range(40)]), range(40))
    assert name in axis.name


def test_given_no_steps_then_seconds_are_counted_by() -> None:
    assert axis_of(book_of([{} for _ in range(40)]), range(40)).one == "a second"


def steps_of(*seen: dict[str, int]) -> tuple[dict[str, float], dict[str, int]]:
    """What loops over `epoch` and `step`, one in the other, have gone through; what one round adds."""
    watching: Any = SimpleNamespace(_rounds=Counts(), book=Book())
    loops = [Loop("train.py", 2, 9, 0, ("epoch",)), Loop("train.py", 3, 9, 0, ("step",))]
    total: dict[str, float] = {}
    for names in seen:
        frame: Any = SimpleNamespace(f_locals=names, f_code=SimpleNamespace(co_flags=0))
        at_work = [(frame, loop) for loop in loops if loop.variables[0] in names]
        total = Watching._loop_steps(watching, at_work)
    return total, watching.book.strides


def test_given_epochs_then_the_steps_of_all_of_them_are_counted() -> None:
    total, _ = steps_of(*({"step": step} for step in (0, 4, 9, 3, 8, 2)))
    assert total == {"loop train.py:3 step": 22.0}


def test_given_the_loop_around_it_then_epochs_between_two_moments_count_too() -> None:
    seen = [(0, 0), (0, 4), (0, 9), (1, 9), (4, 3)]
    total, _ = steps_of(*({"epoch": epoch, "step": step} for epoch, step in seen))
    assert total == {"loop train.py:2 epoch": 4.0, "loop train.py:3 step": 43.0}


@pytest.mark.parametrize(
    ("around", "flags", "values", "known"),
    [
        ((), 0, (0, 7, 3, 9, 2, 5, 1, 8, 4, 6), False),
        ((), 0, (*range(0, 100, 10), 0, *range(10, 90, 10)), True),  # each round of the outer loop is seen
        (("epoch",), 0, (0, 7, 3, 9, 2, 5, 1, 8, 4, 6), True),
        ((), CO_GENERATOR, (0, 7, 3, 9, 2, 5, 1, 8, 4, 6), True),  # the loop around asks it for the next
    ],
)
def test_given_a_loop_around_that_is_not_counted_then_the_inner_one_counts_if_it_is_seldom_begun_anew(
    around: tuple[str, ...], flags: int, values: tuple[int, ...], known: bool
) -> None:
    watching: Any = SimpleNamespace(_rounds=Counts(), book=Book())
    outer, inner = Loop("train.py", 2, 9, 0, around), Loop("train.py", 3, 9, 0, ("step",))
    for moment, step in enumerate(values):
        names = {"epoch": moment, "step": step}
        frames: list[Any] = [
            SimpleNamespace(f_locals=names, f_code=SimpleNamespace(co_flags=one)) for one in (0, flags)
        ]
        steps = Watching._loop_steps(watching, list(zip(frames, (outer, inner), strict=True)))
        watching.book.open(float(moment), "a", steps)
        watching.book.close()
    axis = axis_of(watching.book, range(len(values)))
    assert axis.one == ("a step" if known else "a second")


def test_given_a_variable_that_goes_in_strides_then_rounds_are_counted_and_not_its_values() -> None:
    total, strides = steps_of(*({"step": step} for step in (0, 100, 150, 950, 50, 100)))
    assert total == {"loop train.py:3 step": 1100.0}
    assert strides == {"loop train.py:3 step": 50}
    book = book_of([{"loop train.py:3 step": 50.0 * n} for n in range(40)])
    book.strides.update(strides)
    assert axis_of(book, range(40)).xs[-1] == 39.0


def finding(kind: str, key: str, line: int | None) -> Finding:
    place = None if line is None else Place("train.py", line)
    axis, growth = Axis("steps", "a step", (0.0, 1.0)), Growth(1.0, 1.0, 1.0, 9.0)
    return Finding(remedies()[kind], kind, "", axis, growth, 3, place, key=key)


def kinds(findings: list[Finding]) -> list[str]:
    return [one.kind for one in findings]


def test_given_batches_that_were_lent_then_the_container_is_where_they_are_kept() -> None:
    lent = finding("penstock-lent", "memory.lent", 4)
    assert kinds(_lent([lent, finding("growing-container", "length 1", 9)])) == ["penstock-lent"] * 2
    assert kinds(_lent([finding("growing-container", "length 1", 9)])) == ["growing-container"]


def test_given_findings_without_a_line_then_those_are_left_out_that_need_one_or_are_told_with_one() -> None:
    placed, vague = finding("tf-tensors", "length 1", 9), finding("tf-tensors", "type x.Tensor", None)
    other = finding("native-memory", "memory.heap", None)
    shared = finding("shared-memory", "process.segments", None)
    assert _with_line([placed, vague, other, shared]) == [placed, other]
