"""Functions that are to be called at the end of the program: Python has them where nobody else can look."""

from __future__ import annotations

import atexit

from penstock.doctor.places import Places
from penstock.doctor.signals import Look, Signal, Suspect


def functions(_: Look) -> float:
    """How many there are."""
    return float(atexit._ncallbacks())


def register(_: Places) -> Suspect:
    """Who keeps them."""
    return Suspect(chain=("`atexit`", "the functions of `atexit.register`"))


SIGNALS = [
    Signal(
        "python.atexit",
        "python-objects",
        "functions to call at exit",
        8,
        functions,
        quick=True,
        suspect=register,
    )
]
