"""What every op promises: subclass `OpContract`, give the cases, inherit the tests."""

from __future__ import annotations

import json
import pickle
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

import penstock as ps
from engine.leftovers import descriptors
from penstock.engine.stage import Stage
from penstock.graph import track
from penstock.graph.running import Running
from penstock.options import PASSES

BLOCK_ROWS = (1, 2, 3, 7, 64, 4096)
LIMIT = 300
"""Elements looked at of a stream that may not end."""


def same(left: Any, right: Any) -> bool:
    """Whether two elements are equal in structure, dtype, shape and every bit."""
    if isinstance(left, ps.Dataset) and isinstance(right, ps.Dataset):
        return same(list(left), list(right))
    if isinstance(left, dict):
        return (
            isinstance(right, dict)
            and list(left) == list(right)
            and all(same(left[key], right[key]) for key in left)
        )
    if isinstance(left, tuple | list):
        return type(left) is type(right) and len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, np.ndarray | np.generic):
        if not isinstance(right, np.ndarray | np.generic):
            return False
        if left.dtype != right.dtype or left.shape != right.shape:
            return False
        if left.dtype == object:
            return all(map(same, np.ravel(left), np.ravel(right)))
        return np.asarray(left).tobytes() == np.asarray(right).tobytes()
    return type(left) is type(right) and bool(left == right)


def drain(ds: ps.Dataset, limit: int = LIMIT, **how: Any) -> list[Any]:
    """The first elements of one pass with a fixed seed and epoch."""
    settings = {"seed": 7, "epoch": 0, **how}
    with ds.iterate(**settings) as it:
        return [element for element, _ in zip(it, range(limit), strict=False)]


def resumable(ds: ps.Dataset, block_rows: int | None = None) -> tuple[list[Any], list[str]]:
    """The first elements of one pass, and the state before each of them and after the last."""
    seen, states = [], []
    with ds.with_options(ps.Options(block_rows=block_rows)).iterate(seed=7, epoch=0) as it:
        states.append(json.dumps(it.state()))
        for stage in stages(it._run.root):
            kind = type(stage._running)
            assert kind.replays or kind.state is not Running.state or stage._context.node.op.seam, kind
        for element, _ in zip(it, range(LIMIT), strict=False):
            seen.append(element)
            states.append(json.dumps(it.state()))
    return seen, states


def stages(root: Stage) -> Iterator[Stage]:
    """A started op, and those above it that have been started."""
    yield root
    for stage in root._context.inputs:
        yield from stages(stage)


def places(count: int) -> list[tuple[int, int]]:
    """Where to go on in a stream of so many elements, and for how many of them; once for all the rest."""
    some = {0, 1, 2, 3, count // 3, 2 * count // 3, count - 1, count}
    return [*((place, 8) for place in sorted(some) if 0 <= place <= count), (count // 2, LIMIT - count // 2)]


class OpContract:
    """Subclass it as `TestBatch(OpContract)` and define `cases`."""

    @staticmethod
    @abstractmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        """Small datasets that end with the op, by name, each made by a function without arguments."""

    @pytest.fixture
    def ds(self, case: str) -> ps.Dataset:
        return self.cases()[case]()

    def test_when_a_spec_is_given_then_every_element_agrees_with_it(self, ds: ps.Dataset) -> None:
        spec = ds.op.spec
        if spec is None:
            # Nothing is promised before an element is seen; then nothing may be invented either.
            assert ds.op.find_spec() is None
            return
        for element in drain(ds):
            leaves = spec.structure.flatten(element)
            for leaf, leaf_spec in zip(leaves, spec.leaves, strict=True):
                assert leaf_spec.accepts(leaf), f"{leaf!r} is not {leaf_spec}"

    def test_when_a_cardinality_is_given_then_so_many_elements_come(self, ds: ps.Dataset) -> None:
        got = len(drain(ds, limit=LIMIT))
        if ds.op.cardinality == ps.INFINITE:
            assert got == LIMIT
        elif ds.op.cardinality != ps.UNKNOWN:
            assert got == min(ds.op.cardinality, LIMIT)

    def test_given_blocks_of_every_size_then_the_stream_is_the_same(self, ds: ps.Dataset) -> None:
        expected = drain(ds)
        for rows in BLOCK_ROWS:
            got = drain(ds.with_options(ps.Options(block_rows=rows)))
            assert same(expected, got), f"blocks of {rows} rows"

    def test_given_every_pass_off_then_the_stream_is_the_same(self, ds: ps.Dataset) -> None:
        expected = drain(ds)
        assert same(expected, drain(ds.with_options(ps.Options(optimize=False))))
        for name in PASSES:
            others = tuple(one for one in PASSES if one != name)
            got = drain(ds.with_options(ps.Options(optimize=others, block_rows=5)))
            assert same(expected, got), f"without {name}"

    def test_given_a_small_budget_then_the_ledger_stays_below_and_the_stream_is_the_same(
        self, ds: ps.Dataset
    ) -> None:
        expected = drain(ds)
        budget = 1 << 20
        with ds.iterate(memory=budget, seed=7, epoch=0) as it:
            got = [element for element, _ in zip(it, range(LIMIT), strict=False)]
            assert it._run.ledger.peak <= budget
        assert same(expected, got)

    def test_when_the_run_ends_then_nothing_is_left(self, ds: ps.Dataset) -> None:
        drain(ds)  # whatever the first use of a library opens for good is open now
        threads, files = set(threading.enumerate()), descriptors()
        for count in (0, 1, 2, LIMIT):
            it = ds.iterate(seed=7, epoch=0)
            for _ in zip(range(count), it, strict=False):
                pass
            it.close()
            run = it._run
            run.ledger.settle()
            # Those of earlier tests may end meanwhile.
            assert set(threading.enumerate()) <= threads
            assert descriptors() <= files
            assert run.ledger.held == 0, {
                name: account.held for name, account in run.ledger.accounts.items() if account.held
            }

    def test_when_iterated_again_with_the_same_epoch_then_the_same_comes(self, ds: ps.Dataset) -> None:
        assert same(drain(ds), drain(ds))

    @pytest.mark.parametrize("share", [track.SHARE, float("inf")])
    def test_given_a_state_at_any_element_then_a_new_dataset_goes_on_with_exactly_the_rest(
        self, ds: ps.Dataset, case: str, share: float, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # With an endless share of the time for it, a state is taken wherever there is one to take.
        monkeypatch.setattr(track, "SHARE", share)
        rows = 3 if share == float("inf") else None
        seen, states = resumable(ds, rows)
        declared = pickle.dumps(self.cases()[case]())
        for place, limit in places(len(seen)):
            with pickle.loads(declared).iterate(state=json.loads(states[place])) as it:
                rest = [element for element, _ in zip(it, range(min(limit, LIMIT - place)), strict=False)]
            assert same(seen[place : place + limit], rest), f"from element {place} on"

    def test_given_a_pickled_dataset_then_it_gives_the_same_stream(self, ds: ps.Dataset) -> None:
        assert same(drain(ds), drain(pickle.loads(pickle.dumps(ds))))
