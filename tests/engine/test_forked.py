"""An iteration in a process that was forked while it went on: it is the other's, and stays whole there."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import numpy as np
import pytest

import penstock as ps
from penstock.engine.iterator import Iterator

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
]

PATIENCE = 20
"""Seconds after which a child that hangs is ended."""


def in_child(work: Callable[[], object]) -> int:
    """Do it in a forked child; the signal that ended it, or 0 if it came back true, else its status."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(PATIENCE)
        done = False
        try:
            done = bool(work())
        finally:
            os._exit(0 if done else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def refused(it: Iterator) -> bool:
    """Whether an iteration soon refuses to go on, again and again, and can be closed."""
    for _ in range(2):
        try:
            for _ in it:
                pass
        except ps.errors.PenstockError as error:
            if "forked" not in str(error):
                return False
        else:
            return False
    it.close()
    return True


def numbers(i: int) -> ps.Dataset:
    return ps.Dataset.range(i * 500, i * 500 + 500)


def plain(x: int) -> int:
    return int(x) + 1


@pytest.mark.parametrize(
    "ds",
    [
        ps.Dataset.range(5000).map(plain),
        ps.Dataset.range(5000).map(plain).prefetch(4),
        ps.Dataset.range(5000).map(plain, num_parallel_calls=2, executor="threads"),
        ps.Dataset.range(10).interleave(numbers, cycle_length=4, num_parallel_calls=4),
    ],
    ids=["plain", "prefetch", "threads", "interleave"],
)
def test_when_a_child_goes_on_with_it_then_it_is_refused_and_the_parent_goes_on(ds: ps.Dataset) -> None:
    ds = ds.with_options(ps.Options(block_rows=16))
    whole = [int(x) for x in ds]
    with ds.iterate() as it:
        begun = [int(next(it)) for _ in range(40)]
        assert in_child(lambda: refused(it)) == 0
        assert begun + [int(x) for x in it] == whole


def test_when_a_child_lets_go_of_it_then_rows_on_disk_stay_the_parents() -> None:
    rows = ps.Dataset.range(200).map(lambda x: np.full(10_000, x)).shuffle(150, seed=1)
    with rows.iterate(memory="4MiB", epoch=0) as it:
        begun = [int(next(it)[0]) for _ in range(10)]
        assert in_child(lambda: it.close() is None) == 0
        rest = [np.unique(row).tolist() for row in it]
        notes = [note for op in it.report().ops for note in op.notes]
    assert any("scratch file" in note for note in notes)
    assert sorted(begun + [x for (x,) in rest]) == list(range(200))


def test_when_a_child_takes_a_state_then_it_is_that_of_the_parent() -> None:
    ds = ps.Dataset.range(100).shuffle(10, seed=1).prefetch(2)
    with ds.iterate() as it:
        for _ in range(30):
            next(it)
        state = it.state()
        assert in_child(lambda: it.state() == state) == 0
