"""In which order things are run, and how often: round after round, so that a slow moment hits all alike."""

import importlib.util
import sys
from collections.abc import Iterable

from benchmarks import measure
from benchmarks.declare import MODULES, Peer, Work
from benchmarks.measure import Seen
from benchmarks.memory.pipeline import Pipeline
from benchmarks.tuned import AUTOTUNE, Grid, Rate, Tuned

ROUNDS = {"penstock": 2, "tf.data": 2, "torch": 2, "grain": 1, "no library": 2}
SLOW_PASS = 3.0
GRID_ROUNDS, LAST_ROUNDS = 2, 5
FINALISTS = 2
"""So many points of a grid are run again beside `AUTOTUNE`: the best of many runs is also the luckiest."""


def run_speed(work: Work, *, quick: bool) -> dict[Peer, Seen]:
    """Run every peer of a work, each time in a process of its own."""
    peers = [peer for peer in work.peers if installed(peer.system)]
    if quick:
        peers = [peer for peer in peers if peer.system in ("penstock", "tf.data")]
    results: dict[Peer, Seen] = {}
    for number in range(1 if quick else work.repeat * max(ROUNDS.values())):
        for peer in peers:
            before = results.get(peer)
            if number >= work.repeat * ROUNDS[peer.system] or (before is not None and _settled(before)):
                continue
            progress(f"{work.name}, round {number + 1}: {peer.name}")
            seen = measure.child("speed", work.name, peer.name)
            slow = peer.system == "penstock" and before is None and (seen.first or 0) > SLOW_PASS
            if slow and not seen.trouble:
                # The first of its kind on this machine: Numba has compiled what is there from now on.
                seen = measure.child("speed", work.name, peer.name)
            if before is None:
                results[peer] = seen
            else:
                before.add(seen)
    return results


def _settled(seen: Seen) -> bool:
    """Whether another round would tell nothing that is worth its time."""
    return bool(seen.trouble) or (seen.first or 0) > SLOW_PASS


def run_memory(pipeline: Pipeline, *, quick: bool) -> tuple[Seen, Seen, Seen | None]:
    """Run a pipeline as Penstock, as tf.data, and as Penstock inside a cgroup."""
    progress(f"{pipeline.name}: penstock")
    penstock = measure.child("memory", pipeline.name, "penstock")
    progress(f"{pipeline.name}: tf.data")
    tf_data = Seen(trouble="not installed")
    if installed("tf.data"):
        tf_data = measure.child("memory", pipeline.name, "tf.data")
    progress(f"{pipeline.name}: penstock in a cgroup")
    return penstock, tf_data, None if quick else measure.inside_cgroup(pipeline)


def run_tuned(work: Tuned, *, quick: bool) -> Grid:
    """Run a pipeline with each setting of its grid; then the best ones again, by turns with `AUTOTUNE`."""
    grid = _rates(work, work.settings(), 1 if quick else GRID_ROUNDS)
    best = sorted(grid, key=lambda setting: max(rate.late for rate in grid[setting]), reverse=True)
    return Grid(grid, _rates(work, [AUTOTUNE, *best[:FINALISTS]], 1 if quick else LAST_ROUNDS))


def _rates(work: Tuned, settings: Iterable[str], rounds: int) -> dict[str, list[Rate]]:
    rates: dict[str, list[Rate]] = {setting: [] for setting in settings}
    for number in range(rounds):
        # There and back: none is always the first.
        for setting in list(rates) if number % 2 == 0 else reversed(rates):
            progress(f"{work.name}, round {number + 1}: {setting}")
            rates[setting].append(measure.rate(work.name, setting))
    return rates


def installed(library: str) -> bool:
    """Whether a library can be loaded at all."""
    return importlib.util.find_spec(MODULES[library][0]) is not None


def progress(text: str) -> None:
    """Say on a terminal what runs now."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
