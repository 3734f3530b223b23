"""Arrays of JAX that are alive."""

from __future__ import annotations

import sys

from penstock.doctor.signals import Look, Signal

BRIDGE = "jax._src.xla_bridge"


def arrays(_: Look) -> float | None:
    """How many arrays there are."""
    if not sys.modules[BRIDGE].backends_are_initialized():
        return None
    return float(len(sys.modules["jax"].live_arrays()))


def kept(thing: object, where: str) -> str | None:
    """An array of JAX."""
    del where
    jax = sys.modules.get("jax")
    return "jax-arrays" if jax is not None and isinstance(thing, getattr(jax, "Array", ())) else None


SIGNALS = [Signal("jax.arrays", "jax-arrays", "arrays", 8, arrays, needs=BRIDGE, quick=True)]
