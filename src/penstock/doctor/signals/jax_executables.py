"""Functions that JAX has compiled: one for every shape, static argument or new function."""

from __future__ import annotations

import sys

from penstock.doctor.signals import Look, Signal

BRIDGE = "jax._src.xla_bridge"


def executables(_: Look) -> float | None:
    """How many compiled functions are alive."""
    bridge = sys.modules[BRIDGE]
    if not bridge.backends_are_initialized():
        return None
    return float(len(bridge.get_backend().live_executables()))


SIGNALS = [
    Signal("jax.executables", "jax-compile", "compiled functions", 6, executables, needs=BRIDGE, quick=True)
]
