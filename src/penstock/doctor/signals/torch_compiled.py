"""Graphs that `torch.compile` has made: one for every shape or number that it did not know."""

from __future__ import annotations

import sys

from penstock.doctor.signals import Look, Signal

COUNTERS = "torch._dynamo.utils"


def graphs(_: Look) -> float:
    """How many graphs were compiled."""
    return float(sys.modules[COUNTERS].counters["stats"]["unique_graphs"])


SIGNALS = [Signal("torch.compiled", "torch-compile", "graphs", 6, graphs, needs=COUNTERS, quick=True)]
