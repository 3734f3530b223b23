"""A job that was saved with some readers goes on with another number of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from penstock.engine.iterator import Iterator
from penstock.engine.resume import state_for
from penstock.engine.run import Run
from penstock.errors import ArgumentError, ArgumentTypeError
from penstock.graph import checks
from penstock.graph.passes import plan_of
from penstock.graph.plan import Node, Plan
from penstock.graph.running import Pipeline
from penstock.graph.track import State
from penstock.memory.budget import Memory, resolve_budget
from penstock.memory.shared import Budget
from penstock.ops.rejoined import Part, Rejoined
from penstock.state.readers import Share, said, share_of, shares
from penstock.state.saved import CHANGED, CHECK, FORMAT, checked, is_as_it_was, unpacked, with_seeds

CALL = "reshard"
Readers = Callable[[int, int], Pipeline]
"""The dataset of one of several readers: of how many, and which."""


def reshard(
    pipeline: Callable[[int, int], Any],
    states: Sequence[Any],
    num_shards: int,
    index: int,
    memory: Memory | None = None,
) -> Iterator:
    """Go on with `num_shards` readers where a job with `len(states)` readers stood; this is reader `index`.

    `pipeline(num_shards, index)` gives the dataset of one reader, and `states` are those of all readers of
    the job, in order: reader `i` iterated over `pipeline(len(states), i)`. What was left to them comes once,
    in one of the new readers, to the end of the pass. The next pass is one over
    `pipeline(num_shards, index)`. `memory` is the most that this reader may hold.

    >>> import penstock as ps
    >>> def pipeline(num_shards, index):
    ...     return ps.Dataset.range(12).shard(num_shards, index).shuffle(3, seed=1)
    >>> states, seen = [], []
    >>> for i in range(4):
    ...     with pipeline(4, i).iterate() as it:
    ...         seen.append(int(next(it)))
    ...         states.append(it.state())
    >>> for i in range(2):
    ...     with ps.reshard(pipeline, states, 2, i) as it:
    ...         seen += [int(x) for x in it]
    >>> sorted(seen) == list(range(12))
    True
    """
    checks.function(pipeline, f"{CALL}(pipeline=)")
    checks.count(num_shards, f"{CALL}(num_shards=)", least=1)
    checks.count(index, f"{CALL}(index=)", least=0)
    if index >= num_shards:
        raise ArgumentError(f"{CALL}(index=): expected 0 to {num_shards - 1}, got {index}.")
    if isinstance(states, str | bytes | Mapping) or not isinstance(states, Sequence) or not states:
        raise ArgumentTypeError(f"{CALL}(states=): expected the states of all readers, got {states!r:.80}.")
    given = [_plain(state) for state in states]
    for name in ("epoch", "seed"):
        said_so = [state.get(name) for state in given]
        if len(set(said_so)) > 1:
            raise ArgumentError(
                f"{CALL}(states=): expected states of one {name}, got {said_so}. Take them in the same pass."
            )
    _check_whose(given)
    if num_shards == len(given):
        state = given[index]
    else:
        mine = shares(len(given), num_shards, index)
        state = {
            "penstock": FORMAT,
            "epoch": given[0]["epoch"],
            "seed": given[0]["seed"],
            "elements": 0,
            "parts": [said(share, given[share.index]) for share in mine],
            "state": None,
        }
    resume = partial(_resumed, pipeline, num_shards, index, memory)
    return Iterator(resume(state), resume)


def _plain(state: Any) -> dict[str, Any]:
    if isinstance(state, str | bytes):
        with suppress(ValueError):
            state = json.loads(state)
    if not isinstance(state, Mapping) or "penstock" not in state:
        raise ArgumentTypeError(f"{CALL}(states=): expected what it.state() gave, got {state!r:.80}.")
    if not is_as_it_was(state):
        raise ArgumentError(f"{CALL}(states=): a state is damaged: {CHANGED}.")
    return dict(state)


def _check_whose(given: Sequence[dict[str, Any]]) -> None:
    """Refuse states of a job that was shared out anew if one is missing, or is not in its place."""
    if not any("parts" in state for state in given):
        return  # a pipeline says itself which reader's it is
    for index, state in enumerate(given):
        if not _is_of(state, len(given), index):
            raise ArgumentError(
                f"{CALL}(states=): expected the states of all readers, in their order, got {len(given)}, of "
                f"which number {index} is not that of reader {index} of {len(given)}."
            )


def _is_of(state: Mapping[str, Any], num_shards: int, index: int) -> bool:
    """Whether it is a state of that reader of a job that was shared out anew."""
    parts = [share_of(part) for part in state.get("parts", ())]
    return bool(parts) and parts == shares(parts[0].num_shards, num_shards, index)


class _Built(NamedTuple):
    """A pipeline, and where it stands."""

    declared: Node
    root: Node
    at: State
    plan: Plan


def _resumed(readers: Readers, num_shards: int, index: int, memory: Memory | None, state: Any) -> Run:
    state = _plain(state)
    if "parts" in state and not _is_of(state, num_shards, index):
        raise ArgumentError(
            f"{CALL}: expected the state of reader {index} of {num_shards}, got that of another one. All "
            f"readers would go on with the same elements."
        )
    options = _dataset(readers, num_shards, index)._options
    budget = resolve_budget(memory, options, call=CALL)
    built = _build(readers, state, num_shards, index, budget)
    plan = Plan(built.declared, built.root, built.plan.options, built.plan.block_bytes, built.plan.changes)
    head = {key: state[key] for key in state if key not in ("elements", "state", CHECK)}
    return Run(
        plan,
        budget,
        seed=state["seed"],
        epoch=state["epoch"],
        state=built.at,
        elements=state["elements"],
        head=head,
    )


def _dataset(readers: Readers, num_shards: int, index: int) -> Pipeline:
    dataset = readers(num_shards, index)
    if not isinstance(dataset, Pipeline):
        raise ArgumentTypeError(
            f"{CALL}(pipeline=): expected a function that returns a dataset, got {type(dataset).__name__}."
        )
    return dataset


def _build(readers: Readers, state: Any, num_shards: int, index: int, budget: Budget) -> _Built:
    if "parts" in state:
        parts = [
            (share := share_of(part), _build(readers, part["of"], share.num_shards, share.index, budget))
            for part in state["parts"]
        ]
        return _joined(parts, state["state"])
    saved = unpacked(state)
    dataset = _dataset(readers, num_shards, index)
    try:
        checked(saved, dataset.op)
    except ArgumentError as error:
        raise ArgumentError(
            f"{error} It was taken for that of reader {index} of {num_shards}: give the states of all "
            f"readers, in their order."
        ) from None
    plan = plan_of(with_seeds(dataset.op, saved.seeds), dataset._options, budget.total)
    return _Built(plan.declared, plan.root, state_for(plan, saved), plan)


def _joined(parts: Sequence[tuple[Share, _Built]], at: State | None) -> _Built:
    """The streams of several readers, an element of each in turn; each as far as it is this one's share."""
    # Every op keeps the number that it had in its own pipeline: its randomness hangs on it.
    top = 1 + max(node.index for _, built in parts for node in built.declared.walk())
    declared, roots, places = [], [], []
    for share, built in parts:
        whole, root, place = built.declared, built.root, built.at
        if share.step > 1:
            part = Part(inputs=(whole.op,), step=share.step, offset=share.offset)
            whole, root = Node(part, (whole,), top), Node(part, (root,), top)
            place = {"at": {"input": place, "offset": share.offset}}
        declared.append(whole)
        roots.append(root)
        places.append(place)
    op = Rejoined(inputs=tuple(node.op for node in declared))
    if at is None:
        ended = [False] * len(places)
        at = {"at": {"choices": {"next": 0}, "inputs": places, "ended": ended, "structure": None}}
    return _Built(Node(op, tuple(declared), top + 1), Node(op, tuple(roots), top + 1), at, parts[0][1].plan)
