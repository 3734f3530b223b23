"""Containers that were found to keep what grows are looked at for as long as someone has them."""

from __future__ import annotations

import gc
import logging
import os
import sys
import warnings
from types import SimpleNamespace

import pytest

from penstock.doctor.keepers import Keepers, registries
from penstock.doctor.places import Places
from penstock.doctor.walk import World


def test_given_a_container_that_someone_has_then_it_is_looked_at() -> None:
    handlers, known = ["of a library"], Keepers()
    known.add(handlers, "library.handlers")
    for _ in range(3):
        assert list(known.of(named=False)) == [(handlers, "library.handlers")]


def test_given_one_that_nobody_has_any_more_then_it_is_let_go() -> None:
    owner, known = SimpleNamespace(handlers=["of a library"]), Keepers()
    other = {"a": 1}
    known.add(owner.handlers, "library.handlers")
    known.add(other, "library.names")
    owner.handlers = []
    assert list(known.of(named=False)) == [(other, "library.names")]


def test_given_one_that_a_name_leads_to_then_it_is_told_from_the_others() -> None:
    mine, other, known = ["mine"], ["of a library"], Keepers()
    known.add(mine, "mine", named=True)
    known.add(other, "library.names")
    assert list(known.of(named=True)) == [(mine, "mine")]
    assert list(known.of(named=False)) == [(other, "library.names")]


def test_given_one_that_a_local_name_leads_to_now_and_then_then_it_is_met_under_one_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(Places(__file__))
    monkeypatch.setattr(logging, "handlers_of_all", ["of a library"] * 50, raising=False)
    number = id(logging.handlers_of_all)  # type: ignore[attr-defined]
    world.keepers.add(logging.handlers_of_all, "library.handlers")  # type: ignore[attr-defined]

    def keys() -> list[int]:
        return [node.key for node in world.walk() if id(node.thing) == number]

    def at_work() -> list[int]:
        mine = logging.handlers_of_all  # type: ignore[attr-defined]
        return keys() if mine else []

    assert at_work() == keys()
    assert len(keys()) == 1


def test_given_python_then_its_registries_are_those_in_use() -> None:
    known = {label: thing for thing, label in registries()}
    assert known["sys.modules"] is sys.modules and known["sys.path"] is sys.path
    assert known["warnings.filters"] is warnings.filters and known["gc.callbacks"] is gc.callbacks
    assert len(known["os.environ"]) == len(os.environ)  # type: ignore[arg-type]
