"""What counts as growth, and what only looks like it."""

from __future__ import annotations

import os
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.doctor.book import Book
from penstock.doctor.candidates import candidates
from penstock.doctor.linked import Kept
from penstock.doctor.paths import Described
from penstock.doctor.signals import Look, signals
from penstock.doctor.signals.shared_memory import own_segments

MIB = 1 << 20


def found(anonymous: list[float], asked: list[float], free: list[float] | None = None) -> list[str]:
    """The counters that grow, of a watch with such resident memory."""
    book = Book()
    for moment, (used, all_of_it) in enumerate(zip(anonymous, asked, strict=True)):
        book.open(moment, "train.py:3", {})
        book.put("memory.anonymous", used)
        book.put("memory.asked", all_of_it)
        book.put("memory.heap_free", free[moment] if free else 0.0)
        book.close()
    watching: Any = SimpleNamespace(book=book, _signals=signals())
    return [one.key for one in candidates(watching, [("train.py:3", range(len(book)))])]


def test_given_an_array_that_is_filled_bit_by_bit_then_it_is_no_growth() -> None:
    assert found([(100 + i) * MIB for i in range(60)], [900.0 * MIB] * 60) == []


def test_given_memory_that_is_asked_for_and_used_then_it_is_growth() -> None:
    grown = [(100.0 + 20 * i) * MIB for i in range(60)]
    assert found(grown, [900 * MIB + used for used in grown]) == ["memory.anonymous"]


def test_given_memory_that_the_allocator_keeps_free_then_it_is_no_growth() -> None:
    grown = [(100.0 + 20 * i) * MIB for i in range(60)]
    assert found(grown, grown, free=[18.0 * i * MIB for i in range(60)]) == []


def test_given_data_that_is_loaded_first_and_then_used_then_it_is_no_growth() -> None:
    book = Book()
    for moment in range(40):  # many samples while it is loaded, and few in the loop after it
        book.open(moment, "train.py:3", {})
        book.put("process.threads", 10 + moment)
        book.close()
    watching: Any = SimpleNamespace(book=book, _signals=signals())
    loading = [("train.py:3", range(40))]
    assert [one.key for one in candidates(watching, loading)] == ["process.threads"]
    for moment in range(40, 60, 5):
        book.open(moment, "train.py:9", {})
        book.put("process.threads", 50)
        book.close()
    assert list(candidates(watching, loading)) == []


def grown(
    key: str, by: float, seconds: float = 1.0, kept: Kept | None = None, **more: Any
) -> list[tuple[str, bool]]:
    """Whether a series that grows by so much a step is a candidate, and one that does not matter."""
    book = Book()
    for moment in range(60):
        book.open(moment * seconds, "train.py:3", {"optimizer steps": float(moment)})
        book.put(key, 1000 + by * moment)
        book.close()
    type_ = more.pop("type", "list")
    one = Described("kept", ("kept",), "", "train.py", type_, "members", False, False, (type_,), **more)
    paths = SimpleNamespace(
        described={key: one}, world=SimpleNamespace(of_user_module=lambda name: name == "train")
    )
    evidence = SimpleNamespace(types={} if kept is None else {key: kept})
    watching: Any = SimpleNamespace(book=book, _signals=signals(), paths=paths, evidence=evidence)
    return [
        (one.kind, bool(one.minor or one.faint)) for one in candidates(watching, [("train.py:3", range(60))])
    ]


@pytest.mark.parametrize(
    ("each", "seconds", "minor"),
    [(100.0, 1.0, True), (500.0, 1.0, False), (100.0, 1e-5, True), (100_000.0, 1e-5, False)],
)
def test_given_a_container_then_a_few_bytes_a_step_are_bookkeeping(
    each: float, seconds: float, minor: bool
) -> None:
    assert grown("length 1", 1.0, seconds, each=each) == [("growing-container", minor)]


@pytest.mark.parametrize(
    ("each", "seconds", "more", "minor"),
    [
        (32.0, 0.05, {}, True),
        (32.0, 0.02, {}, False),
        (32.0, 0.1, {"type": "dict"}, False),
        (32.0, 1.0, {"type": "dict"}, True),
        (32.0, 1.0, {"kind": "unbounded-cache"}, False),
        (500.0, 1.0, {}, False),
        (190.0, 1.0, {"made_up": True}, False),
    ],
)
def test_given_many_small_members_a_step_then_they_are_bookkeeping_where_they_come_slowly(
    each: float, seconds: float, more: dict[str, Any], minor: bool
) -> None:
    kind = more.get("kind", "growing-container")
    assert grown("length 1", 150.0, seconds, each=each, **more) == [(kind, minor)]


def test_given_few_bytes_a_step_and_many_steps_between_moments_then_what_comes_in_a_second_counts() -> None:
    def judged(seconds: float) -> list[bool]:
        book = Book()
        for moment in range(60):
            book.open(moment * seconds, "train.py:3", {"optimizer steps": 2000.0 * moment})
            book.put("length 1", 2000.0 * moment)
            book.close()
        described = Described(
            "kept", ("kept",), "", "train.py", "list", "members", False, False, ("list",), each=100.0
        )
        paths = SimpleNamespace(described={"length 1": described})
        watching: Any = SimpleNamespace(book=book, _signals=signals(), paths=paths)
        return [bool(one.minor) for one in candidates(watching, [("train.py:3", range(60))])]

    assert judged(1.0) == [True]  # 100 bytes a step, 0.2 MB a second
    assert judged(0.01) == [False]  # 20 MB a second


def test_given_objects_of_a_librarys_class_then_seldom_ones_do_not_count() -> None:
    assert grown("type train.Part", 0.9) == [("python-objects", False)]
    assert grown("type library.Part", 2.0) == [("python-objects", False)]
    assert grown("type library.Part", 0.9) == []


def test_given_few_objects_that_a_name_of_the_users_keeps_then_they_count_where_memory_grows() -> None:
    by_name, by_nobody = Kept("python-objects", ("`tape`", "tuple"), "tape", "train.py"), Kept("", ())
    assert grown("type builtins.tuple", 1.0, kept=by_name) == [("python-objects", True)]
    assert grown("type builtins.tuple", 1.0, kept=by_nobody) == []
    assert grown("type builtins.tuple", 100.0, kept=by_name) == [("python-objects", False)]


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="needs shared memory")
def test_given_segments_of_others_then_only_those_of_this_process_are_counted_at_a_line(
    tmp_path: Path,
) -> None:
    before = own_segments(Look())
    other = Path("/dev/shm") / f"of-another-{tmp_path.name}-{os.getpid()}"
    other.write_bytes(b"x")
    try:
        assert own_segments(Look()) == before
        one = SharedMemory(create=True, size=4096)
        assert own_segments(Look()) == before + 1
        one.close()
        assert own_segments(Look()) == before + 1  # it is there until it is unlinked
        one.unlink()
        assert own_segments(Look()) == before
    finally:
        other.unlink()
