"""How many objects of each type there are."""

from __future__ import annotations

import gc
import sys
from types import ModuleType
from weakref import ref

import pytest

from penstock.doctor.census import IMPORTED, YOUNG, Census


class Part:
    """Something to count."""


NAME = f"{Part.__module__}.{Part.__qualname__}"


def test_given_objects_that_were_frozen_after_a_look_then_they_are_counted_on() -> None:
    census, kept = Census(), [Part() for _ in range(3)]
    census.begin()
    try:
        kept += [Part() for _ in range(4)]
        look = census.look()
        assert look.types[NAME] == 7
        gc.unfreeze()  # as one does to find who keeps a thing
        gc.freeze()
        census.set_aside(look)
        del look
        kept += [Part() for _ in range(5)]
        assert census.look().types[NAME] == 12
    finally:
        census.end()


def test_given_many_new_objects_then_they_are_set_aside_once_looks_have_taken_as_long() -> None:
    census = Census()
    census.begin()
    try:
        assert census.anew > 0
        kept = [[number] for number in range(YOUNG + 5)]
        looked = 0
        while True:
            census.due()
            look = census.look()
            looked += 1
            if census.anew:
                break
            assert len(look.objects) > YOUNG
            del look
        assert len(look.objects) < YOUNG
        assert look.types["builtins.list"] > len(kept)
        assert looked > 1  # not at once: it costs as much as many looks
    finally:
        census.end()


def test_given_few_new_objects_then_nothing_is_counted_anew() -> None:
    census = Census()
    census.begin()
    try:
        for _ in range(200):
            assert census.due()
            census.look()
            assert census.anew == 0.0
    finally:
        census.end()


def test_given_whom_it_concerns_then_all_that_there_is_is_shown_before_it_is_set_aside() -> None:
    part, shown = Part(), []
    census = Census(lambda objects, counts: shown.append((any(one is part for one in objects), counts[NAME])))
    try:
        census.begin()
        assert shown == [(True, 1)]
        assert not any(one is part for one in census.look().objects)
    finally:
        census.end()


def test_given_very_many_objects_at_first_then_garbage_among_them_is_collected_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("penstock.doctor.census.MANY", 10)
    now = [100.0]
    monkeypatch.setattr("penstock.doctor.census.perf_counter", lambda: now[0])
    gc.collect()
    circle = Part()
    circle.me = circle  # type: ignore[attr-defined]
    gone = ref(circle)
    del circle
    census = Census()
    census.begin()
    try:
        census.look()
        assert gone() is not None
        now[0] += 1000.0
        assert census.look().types[NAME] == 0
        assert gone() is None and census.anew > 0
        census.due()
        now[0] += 1000.0
        census.look()
        assert census.anew == 0.0  # once
    finally:
        census.end()


def test_given_few_objects_at_first_then_garbage_among_them_is_collected_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("penstock.doctor.census.MANY", 10**9)
    circle = Part()
    circle.me = circle  # type: ignore[attr-defined]
    gone = ref(circle)
    del circle
    census = Census()
    census.begin()
    census.end()
    assert gone() is None


def test_given_a_library_that_comes_at_a_step_then_what_it_brings_is_set_aside_and_counted_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: list[int] = []
    census = Census(lambda objects, types: shown.append(sum(type(one) is Part for one in objects)))
    kept = [Part() for _ in range(3)]
    census.begin()
    try:
        kept += [Part() for _ in range(4)]
        for number in range(IMPORTED + 1):
            monkeypatch.setitem(sys.modules, f"brought_{number}", ModuleType(f"brought_{number}"))
        census.due()
        look = census.look()
        assert look.types[NAME] == 7
        assert not any(type(one) is Part for one in look.objects)
        assert census.anew > 0
        assert shown[-1] == 4
        kept += [Part() for _ in range(5)]
        census.due()
        assert census.look().types[NAME] == 12
        assert census.anew == 0
    finally:
        census.end()
