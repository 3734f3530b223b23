"""More may hang on what is kept than one can see: then memory that grows is no leak of its own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from penstock.doctor.accuse import accuse
from penstock.doctor.book import Book
from penstock.doctor.candidates import Candidate
from penstock.doctor.findings import Axis, Curve
from penstock.doctor.paths import LENGTH, Paths, things_in
from penstock.doctor.places import Places
from penstock.doctor.probes import Evidence
from penstock.doctor.signals import has_more
from penstock.doctor.verdict import Growth
from penstock.doctor.walk import Node


def described(thing: object) -> Paths:
    places = Places(__file__)
    paths = Paths(places, Book())
    paths._describe(f"{LENGTH}1", Node(thing, 1, None, "kept", 0, file=__file__), 9.0)
    return paths


def is_exact(thing: object) -> bool:
    paths = described(thing)
    one = Candidate(
        f"{LENGTH}1",
        "growing-container",
        "members",
        3,
        Axis("steps", "a step", (0.0, 1.0)),
        Growth(1.0, 1.0, 1.0, 100.0),
        1.0,
        Curve((0.0,), (0.0,)),
        9.0,
        (0.0, 1.0),
        described=paths.described[f"{LENGTH}1"],
    )
    evidence = Evidence(Places(__file__), paths)
    watching: Any = SimpleNamespace(
        places=evidence.places, book=Book(), paths=paths, evidence=evidence, script=__file__
    )
    return accuse(watching, one).exact


def test_given_tensors_then_those_with_a_graph_or_a_gradient_have_more() -> None:
    torch = pytest.importorskip("torch")
    plain, trained = torch.zeros(40_000), torch.zeros(40_000, requires_grad=True)
    assert [has_more(one) for one in (plain, trained, trained * 2, [1])] == [False, True, True, False]
    assert is_exact([plain] * 2)
    assert not is_exact([trained * 2] * 2)
    assert not is_exact([(3, trained * 2)] * 2)


def test_given_a_record_of_tensors_then_it_is_known_how_many_it_has() -> None:
    torch = pytest.importorskip("torch")
    record = {"step": 3, "weights": [{"w": torch.zeros(2), "b": torch.zeros(2)} for _ in range(3)]}
    assert described([record] * 2).described[f"{LENGTH}1"].things == 6
    assert things_in(torch.zeros(2), "torch-tensors", "") == things_in([], "torch-tensors", "") == 1
    assert things_in(list(range(10**6)), "torch-tensors", "") == 1


def test_given_modules_then_an_optimizer_may_have_more_of_them() -> None:
    torch = pytest.importorskip("torch")
    assert has_more(torch.nn.Linear(2, 2))
    assert not is_exact({str(i): torch.nn.Linear(200, 200) for i in range(3)})
