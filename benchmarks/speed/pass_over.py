"""What the child does with one peer's way of writing one work: check it, then time it."""

import importlib
import math
import time
from collections.abc import Iterable
from typing import Any

from benchmarks.conversation import Conversation
from benchmarks.declare import MODULES, Expected, Peer, Work

LONG_PASS = 4.0
TIMED_PASSES = 40
TIMED_SECONDS = 2.0
SETTLED_PASSES = 3
"""So many for every peer, where what is between them takes long, and is not timed."""


def run(work: Work, peer: Peer, parent: Conversation) -> None:
    """Load, report idle, check one pass (the warm-up), then time more for two seconds and report each.

    So every peer has the time that its own warming up takes: tuning, threads, compiled code.

    A first pass of more than `LONG_PASS` seconds is its own measurement.
    """
    for module in MODULES[peer.system]:
        importlib.import_module(module)
    inputs = work.inputs()
    expected = work.expected(inputs)
    parent.ask("idle")
    stream = peer.build(inputs)
    first = _checked(work, stream, expected)
    parent.say("pass", seconds=first, first=True)
    if first < LONG_PASS:
        end = time.perf_counter() + TIMED_SECONDS
        settles = hasattr(stream, "settle")
        for _ in range(SETTLED_PASSES if settles else TIMED_PASSES):
            if settles:
                stream.settle()
            parent.say("pass", seconds=_timed(work, stream), first=False)
            if not settles and time.perf_counter() > end:
                break
    parent.ask("done")


def _checked(work: Work, stream: Iterable[Any], expected: tuple[Expected, ...]) -> float:
    totals = [0.0] * len(expected)
    started = time.perf_counter()
    for item in stream:
        for place, value in enumerate(work.tally(item)):
            totals[place] += value
    seconds = time.perf_counter() - started
    for place, (total, wanted) in enumerate(zip(totals, expected, strict=True)):
        if not math.isclose(total, wanted.value, rel_tol=wanted.within):
            raise ValueError(f"Expected sum {place} to be {wanted.value}, got {total}.")
    return seconds


def _timed(work: Work, stream: Iterable[Any]) -> float:
    count = 0
    started = time.perf_counter()
    for _ in stream:
        count += 1
    seconds = time.perf_counter() - started
    if count != work.items:
        raise ValueError(f"Expected {work.items} items, got {count}.")
    return seconds
