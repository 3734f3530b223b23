"""Containers that were found to keep what grows are looked at for as long as someone has them."""

from __future__ import annotations

import gc
import os
import sys
import warnings
from types import SimpleNamespace

from penstock.doctor.keepers import Keepers, registries


def test_given_a_container_that_someone_has_then_it_is_looked_at() -> None:
    handlers, known = ["of a library"], Keepers()
    known.add(handlers, "library.handlers")
    for _ in range(3):
        assert list(known) == [(handlers, "library.handlers")]


def test_given_one_that_nobody_has_any_more_then_it_is_let_go() -> None:
    owner, known = SimpleNamespace(handlers=["of a library"]), Keepers()
    other = {"a": 1}
    known.add(owner.handlers, "library.handlers")
    known.add(other, "library.names")
    owner.handlers = []
    assert list(known) == [(other, "library.names")]


def test_given_python_then_its_registries_are_those_in_use() -> None:
    known = {label: thing for thing, label in registries()}
    assert known["sys.modules"] is sys.modules and known["sys.path"] is sys.path
    assert known["warnings.filters"] is warnings.filters and known["gc.callbacks"] is gc.callbacks
    assert len(known["os.environ"]) == len(os.environ)  # type: ignore[arg-type]
