"""`interleave`: several datasets at a time, a few elements of each in turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.blocks.block import Block
from penstock.blocks.spec import Spec
from penstock.errors import ElementError
from penstock.functions.nested import DatasetFunction
from penstock.graph import checks
from penstock.graph.op import AUTOTUNE, UNKNOWN, Op
from penstock.graph.running import Context, Running
from penstock.ops.parts.feeds import Feed, Picks

CYCLE = 4
"""How many datasets are open at a time where the user does not say: the same on every machine."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Interleave(Op):
    """The elements of the datasets that a function returns, `cycle_length` of them in turn."""

    function: Callable[..., Any]
    cycle_length: int | None = None
    block_length: int | None = None
    num_parallel_calls: int | None = None
    deterministic: bool | None = None

    name = "interleave"

    def __post_init__(self) -> None:
        checks.function(self.function, "interleave(map_func=)")
        if self.cycle_length is not None:
            checks.count(
                self.cycle_length, "interleave(cycle_length=)", least=1, also={AUTOTUNE: "ps.AUTOTUNE"}
            )
        if self.block_length is not None:
            checks.count(self.block_length, "interleave(block_length=)", least=1)
        if self.num_parallel_calls is not None:
            checks.count(
                self.num_parallel_calls,
                "interleave(num_parallel_calls=)",
                least=1,
                also={AUTOTUNE: "ps.AUTOTUNE"},
            )
        if self.deterministic is not None:
            checks.flag(self.deterministic, "interleave(deterministic=)")

    def start(self, context: Context) -> Running:
        return RunningInterleave(self, context)

    def find_spec(self) -> Spec | None:
        return None

    def find_cardinality(self) -> int:
        return UNKNOWN


class RunningInterleave(Running):
    """Visits its slots in turn. A slot whose dataset has ended is refilled on its next visit."""

    def __init__(self, op: Interleave, context: Context) -> None:
        cycle = op.cycle_length
        self._context = context
        self._upstream = context.input()
        self._function = DatasetFunction(op.function, op, context, "map_func")
        open_at_once = CYCLE if cycle is None or cycle == AUTOTUNE else cycle
        self._slots: list[Feed | None] = [None] * open_at_once
        self._length = op.block_length or 1
        self._at = 0
        self._done = 0
        """The rows that the slot at hand has given in this visit."""
        self._seen = 0
        self._ended = False
        self._error: ElementError | None = None

    def pull(self, rows: int) -> Block | None:
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        picks = Picks()
        try:
            self._pick(rows, picks)
        except ElementError as error:
            if not picks.feeds:
                raise
            self._error = error
        return picks.merged(self._context.empty) if picks.feeds else None

    def _pick(self, left: int, picks: Picks) -> None:
        """Pick up to `left` rows in their order."""
        room = self._context.block_bytes
        while left and (room > 0 or not picks.feeds):
            count, size = self._pick_rounds(left, picks)
            if count:
                left, room = left - count, room - size
                continue
            feed = self._slots[self._at]
            if feed is None:
                if self._ended:
                    if not any(self._slots):
                        return
                    self._next_slot()
                    continue
                feed = self._slots[self._at] = self._open()
                if feed is None:
                    self._ended = True
                    continue
            room -= feed.fill(self._due(left))
            count = min(feed.ready, left, self._length - self._done)
            if count:
                self._check(feed)
                picks.add([feed], 1, count)
                left -= count
                self._done += count
                if self._done == self._length:
                    self._next_slot()
            elif feed.error is not None:
                error, feed.error = feed.error, None
                raise error
            else:
                # Rows that have been picked hold on to the arrays that they are views of.
                room -= sum(map(self._context.ledger.behind, feed.blocks))
                self._close_slot()
                self._next_slot()

    def _pick_rounds(self, left: int, picks: Picks) -> tuple[int, int]:
        """Pick whole rounds over all slots, where all have rows: how many, and the bytes that came."""
        rounds = left // (self._length * len(self._slots))
        order = [*self._slots[self._at :], *self._slots[: self._at]]
        feeds = [feed for feed in order if feed is not None]
        if self._done or rounds < 2 or len(feeds) < len(order):
            return 0, 0
        size = sum(feed.fill(rounds * self._length) for feed in feeds)
        rounds = min(rounds, *(feed.ready // self._length for feed in feeds))
        try:
            for feed in feeds if rounds else ():
                self._function.checked(feed.blocks[-1])
        except ElementError:
            return 0, size  # one by one, it is raised in its place
        picks.add(feeds, rounds, self._length)
        return rounds * self._length * len(feeds), size

    def _check(self, feed: Feed) -> None:
        try:
            self._function.checked(feed.blocks[-1])
        except ElementError:
            self._close_slot()
            raise

    def _close_slot(self) -> None:
        feed, self._slots[self._at] = self._slots[self._at], None
        assert feed is not None
        feed.source.close()

    def _due(self, left: int) -> int:
        """At least so many of the next `left` rows are of the slot at hand, if it has them."""
        here = self._length - self._done
        if left <= here:
            return left
        whole, part = divmod(left - here, self._length * len(self._slots))
        others = self._length * (len(self._slots) - 1)
        return here + whole * self._length + max(part - others, 0)

    def _open(self) -> Feed | None:
        block = self._upstream.pull(1)
        if block is None:
            return None
        number, self._seen = self._seen, self._seen + 1
        return Feed(self._function.open(block.element(0), number))

    def _next_slot(self) -> None:
        self._at = (self._at + 1) % len(self._slots)
        self._done = 0

    def close(self) -> None:
        self._slots = [None] * len(self._slots)
