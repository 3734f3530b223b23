"""Several inputs, and a stream of choices that says whose row comes next."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.spec import Spec, dtype_name
from penstock.blocks.structure import Structure
from penstock.errors import ArgumentTypeError, ElementError
from penstock.graph.op import Op
from penstock.graph.running import Context, Input, Running
from penstock.graph.track import State
from penstock.ops.concatenate import leaf_order
from penstock.ops.parts.feeds import Feed, merged
from penstock.ops.parts.known import known_structure, said_structure

Choices = NDArray[np.int64]


def common_spec(op: Op, specs: Sequence[Spec | None]) -> Spec | None:
    """The spec over all inputs; raises where their structures or dtypes differ."""
    known = [spec for spec in specs if spec is not None]
    if not known:
        return None
    first = known[0]
    leaves = list(first.leaves)
    for which, spec in enumerate(specs):
        if spec is None:
            continue
        order = order_of(op, first.structure, spec.structure, which)
        for i, (path, place) in enumerate(zip(first.structure.paths(), order, strict=True)):
            common = leaves[i].common(spec.leaves[place])
            if common is None:
                mine, its = leaves[i].dtype, spec.leaves[place].dtype
                raise ArgumentTypeError(
                    op.fail(
                        f"expected {dtype_name(mine)} at element{path} of dataset {which}, as in "
                        f"the first one, got {dtype_name(its)}. Convert one with a map."
                    )
                )
            leaves[i] = common
    return Spec(first.structure, leaves) if len(known) == len(specs) else None


def order_of(op: Op, first: Structure, other: Structure, which: int) -> list[int]:
    """Where the leaves of the first input's structure are in that of input `which`."""
    order = leaf_order(first, other)
    if order is None:
        raise ArgumentTypeError(
            op.fail(
                f"expected elements of the structure {first}, as in the first dataset, got {other} "
                f"in dataset {which}. Make them alike with a map."
            )
        )
    return order


class Aligned(Running):
    """An input whose columns come in the order of the first input's."""

    exact = True

    def __init__(self, source: Input, op: Op, which: int, first: list[Structure]) -> None:
        self._source = source
        self._op = op
        self._which = which
        self._first = first

    def pull(self, rows: int) -> Block | None:
        block = self._source.pull(rows)
        if block is None:
            return None
        if not self._first:
            self._first.append(block.structure)
        if block.structure == self._first[0]:
            return block
        order = order_of(self._op, self._first[0], block.structure, self._which)
        return Block(self._first[0], [block.columns[i] for i in order], block.rows, origin=block.origin)

    def state(self) -> State:
        return self._source.state()

    def restore(self, state: State) -> None:
        self._source.restore(state)


class Choosing(ABC):
    """Where the choices come from."""

    @abstractmethod
    def next(self, rows: int) -> Choices | None:
        """Some choices, about `rows` of them if each costs something; None at the end."""

    @property
    def rests(self) -> bool:
        """Whether it holds nothing that it has not handed on."""
        return True

    @abstractmethod
    def state(self) -> Any:
        """Where it stands, when it `rests`."""

    @abstractmethod
    def restore(self, state: Any) -> None:
        """Go to where another one stood."""


class RunningDirected(Running):
    """Pulls from each input what the choices need of it, and puts the rows in their order.

    A choice of an input that has ended is passed over, or ends it all (`stop`).
    """

    def __init__(
        self,
        op: Op,
        context: Context,
        inputs: Sequence[int],
        choosing: Choosing,
        *,
        stop: bool,
    ) -> None:
        self._context = context
        self._choosing = choosing
        self._stop = stop
        known = [above.spec for above in op.inputs]
        self._first = [spec.structure for spec in known[:1] if spec is not None]
        self._feeds = [Feed(Aligned(context.input(which), op, which, self._first)) for which in inputs]
        self._choices: Choices = np.zeros(0, np.int64)
        self._most = 1  # rows to put in order at once
        self._error: ElementError | None = None
        self._ended = not inputs

    def pull(self, rows: int) -> Block | None:
        while True:
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            self._pass_over()
            if self._ended:
                return None
            if not len(self._choices):
                if self._choosing.rests:
                    self._context.track.take(self.state)
                choices = self._choosing.next(rows)
                if choices is None:
                    self._ended = True
                    return None
                self._choices = choices
                self._pass_over()
            block = self._merge(rows) if len(self._choices) else None
            if block is not None:
                return block

    def state(self) -> Any:
        return {
            "choices": self._choosing.state(),
            "inputs": [feed.state() for feed in self._feeds],
            "ended": [feed.ended and not feed.rows for feed in self._feeds],
            "structure": said_structure(self._first[0]) if self._first else None,
        }

    def restore(self, state: Any) -> None:
        self._choosing.restore(state["choices"])
        for feed, where, ended in zip(self._feeds, state["inputs"], state["ended"], strict=True):
            feed.restore(where)
            feed.ended = ended
        first = known_structure(state["structure"])
        if first is not None and not self._first:
            self._first.append(first)

    def _pass_over(self) -> None:
        gone = [feed.ended and not feed.rows for feed in self._feeds]
        if not self._stop and any(gone):
            self._ended = self._ended or all(gone)
            self._choices = self._choices[~np.array(gone)[self._choices]]

    def _merge(self, rows: int) -> Block | None:
        chosen = self._choices[: min(rows, self._most)]
        places = [np.flatnonzero(chosen == which) for which in range(len(self._feeds))]
        chosen_from = sum(len(at) > 0 for at in places)
        room = self._context.block_bytes // max(1, chosen_from)
        for feed, at in zip(self._feeds, places, strict=True):
            feed.fill(len(at), room)
        one = max((feed.row_bytes for feed in self._feeds), default=0)
        self._most = min(2 * self._most, self._context.rows_for(one))
        stopper, cut = self._first_stop(places, len(chosen))
        self._choices = self._choices[cut + (stopper is not None) :]
        which = np.full(cut, -1, np.int64)
        starts = np.zeros(cut, np.int64)
        for number, (feed, at) in enumerate(zip(self._feeds, places, strict=True)):
            # Those beyond the rows of an input that has ended are passed over.
            mine = at[at < cut][: feed.rows]
            which[mine] = number
            starts[mine] = np.arange(feed.pick(len(mine)), feed.picked)
        if stopper is not None:
            self._error = stopper.raised() if stopper.error is not None else None
            self._ended = self._error is None
        got = which >= 0
        if not got.any():
            return None
        ones = np.ones(int(got.sum()), np.int64)
        return merged(self._feeds, which[got], starts[got], ones, self._context.empty)

    def _first_stop(self, places: list[Choices], end: int) -> tuple[Feed | None, int]:
        """The first choice without a row, and whose error or end it is; None where more are to come."""
        stopper, cut = None, end
        for feed, at in zip(self._feeds, places, strict=True):
            more = feed.error is None and not feed.ended
            if len(at) > feed.rows and (more or feed.error is not None or self._stop):
                place = int(at[feed.rows])
                if place < cut:
                    stopper, cut = None if more else feed, place
        return stopper, cut

    def close(self) -> None:
        for feed in self._feeds:
            feed.drop()
