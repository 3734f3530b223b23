"""Who keeps an object."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.doctor.places import Places
from penstock.doctor.referrers import chain_of

KEPT: list[Any] = []


class Pixels(np.ndarray):
    """An array that the collector knows, as one over a file is."""


def test_given_an_array_that_is_kept_in_tuples_then_it_is_not_asked_whether_it_is_equal() -> None:
    pixels = np.zeros(3).view(Pixels)
    KEPT.extend([[pixels], (pixels, "a"), {"of": pixels}, (pixels, "b")])
    del pixels
    try:
        chain = chain_of(KEPT[0][0], Places(__file__))
    finally:
        KEPT.clear()
    assert chain.labels[-1] == "Pixels"


class Part:
    """Something that is kept."""


REGISTRY: dict[str, Part] = {}


def test_given_a_large_container_of_a_module_then_it_is_known_who_it_is() -> None:
    REGISTRY.update({f"part {i}": Part() for i in range(40)})
    try:
        chain = chain_of(REGISTRY["part 7"], Places(__file__))
        assert chain.holder is REGISTRY
        assert (chain.name, chain.file) == ("REGISTRY", __file__)
    finally:
        REGISTRY.clear()


def test_given_a_small_one_then_it_is_an_object_with_its_attributes() -> None:
    REGISTRY["only"] = Part()
    try:
        chain = chain_of(REGISTRY["only"], Places(__file__))
        assert chain.holder is None
        assert chain.labels == ("`REGISTRY`", "['only']", "Part")
    finally:
        REGISTRY.clear()


class Logger:
    """An object of a class with many attributes, and one long list."""

    def __init__(self) -> None:
        self.handlers: list[Part] = [Part() for _ in range(60)]


def test_given_several_large_containers_on_the_way_then_the_largest_is_told() -> None:
    REGISTRY.update({f"part {i}": Part() for i in range(30)})
    REGISTRY["logger"] = Logger()  # type: ignore[assignment]
    try:
        chain = chain_of(REGISTRY["logger"].handlers[7], Places(__file__))  # type: ignore[attr-defined]
        assert chain.holder is REGISTRY["logger"].handlers  # type: ignore[attr-defined]
    finally:
        REGISTRY.clear()


def test_given_one_that_native_code_alone_has_then_nobody_keeps_it_but_who_asks() -> None:
    part, asked = Part(), list[object]()
    asked.append(part)
    del part
    chain = chain_of(asked[0], Places(__file__), (asked,))
    assert chain.alone and not chain.labels
    REGISTRY["only"] = asked[0]  # type: ignore[assignment]
    try:
        assert not chain_of(asked[0], Places(__file__), (asked,)).alone
    finally:
        REGISTRY.clear()
