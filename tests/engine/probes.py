"""Probes that say what they are told to, however the machine shares its cores."""

from __future__ import annotations

from time import perf_counter
from typing import Self

from penstock.engine.gil import Probe


class Partly(Probe):
    """A probe that was held up for a part of the time."""

    part = 0.2

    def __enter__(self) -> Self:
        self._began = perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds, self.held = perf_counter() - self._began, self.part


class Light(Partly):
    """As of a function that lets go of the lock."""

    part = 0.02


class Heavy(Partly):
    """As of a function that holds it."""

    part = 0.9
