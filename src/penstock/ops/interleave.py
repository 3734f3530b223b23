"""`interleave`: several datasets at a time, a few elements of each in turn."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from penstock.blocks.block import Block
from penstock.blocks.spec import Spec
from penstock.errors import ElementError
from penstock.functions.nested import DatasetFunction
from penstock.graph import checks
from penstock.graph.branching import Branches, Branching, Opening
from penstock.graph.op import AUTOTUNE, UNKNOWN, Op
from penstock.graph.running import Context, Input, Running
from penstock.graph.track import State
from penstock.ops.parts.dropped import let_go
from penstock.ops.parts.feeds import NO_LIMIT, Feed, Picks

SHARED = 256 << 10
"""So many bytes of each file at least are read by two threads."""
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
    parted = "each"
    opens = True

    def __post_init__(self) -> None:
        checks.function(self.function, "interleave(map_func=)", self.inputs[0])
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

    @property
    def open_at_once(self) -> int:
        """How many datasets are read in turn."""
        return CYCLE if self.cycle_length in (None, AUTOTUNE) else self.cycle_length

    @property
    def seam(self) -> str:
        return "" if self.num_parallel_calls in (None, 1) else "branches"

    def start(self, context: Context) -> Running:
        return RunningInterleave(self, context)

    def find_spec(self) -> Spec | None:
        return None

    def find_cardinality(self) -> int:
        return UNKNOWN


class Begun(Opening):
    """An element, and the function that gives a dataset for it."""

    def __init__(self, function: DatasetFunction, block: Block, number: int, state: State | None) -> None:
        self._function = function
        self._block = block
        self.state = state
        self.number = number

    def open(self) -> Input:
        dataset = self._function.open(self._block.element(0), self.number)
        if self.state is not None:
            dataset.restore(self.state)
        return dataset


class Taken(NamedTuple):
    """Where the input stood before an element: how often it had been asked for one, the rows that it gave."""

    turn: int
    rows: int
    state: State


class RunningInterleave(Branching):
    """Visits its slots in turn. A slot whose dataset has ended is refilled on its next visit."""

    def __init__(self, op: Interleave, context: Context) -> None:
        self._context = context
        self._upstream = context.input()
        self._function = DatasetFunction(op.function, op, context, "map_func")
        self.branches = Branches(self.begin)
        self._slots: list[Feed | None] = [None] * op.open_at_once
        self._length = op.block_length or 1
        self._at = 0
        self._done = 0
        """The rows that the slot at hand has given in this visit."""
        self._seen = 0
        self._ended = False
        self._error: ElementError | None = None
        # Elements are taken in on any thread, before their datasets are asked for.
        self._lock = threading.Lock()
        self._taken = 0
        self._row_bytes = 0  # of the largest so far
        self._waiting: deque[Taken] = deque()
        self._again: dict[int, State] = {}  # of datasets that were open, by when their element was taken
        self._again_until = 0

    def state(self) -> Any:
        with self._lock:
            following = (
                self._waiting[0] if self._waiting else Taken(self._taken, self._seen, self._upstream.state())
            )
        begun = [None if feed is None else feed.opened for feed in self._slots]
        first = min((taken for taken in begun if taken is not None), default=following)
        return {
            "from": [*first],
            "until": max(following.turn, self._again_until),  # those before it may not be passed over yet
            "slots": [None if feed is None else [feed.opened.turn, feed.state()] for feed in self._slots],
            "at": self._at,
            "done": self._done,
            "ended": self._ended,
        }

    def restore(self, state: Any) -> None:
        self._taken, self._seen, before = state["from"]
        self._upstream.restore(before)
        self._again_until = state["until"]
        slots = {slot[0]: (place, slot[1]) for place, slot in enumerate(state["slots"]) if slot is not None}
        self._again = {count: nested for count, (_, nested) in slots.items()}
        for count in sorted(slots):
            self._slots[slots[count][0]] = self._open()
        self._at, self._done, self._ended = state["at"], state["done"], state["ended"]

    def pull(self, rows: int) -> Block | None:
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        self._context.track.take(self.state)
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
        room = self._room(left)
        while left and (room > 0 or not picks.feeds):
            if self.branches.loose and not self._done and not self._turn_to_ready(wait=not picks.feeds):
                return
            count, size = self._pick_rounds(left, picks, room)
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
                if feed is None or self.branches.loose:
                    continue
            due = self._due(left) if not self.branches.loose else self._at_hand(feed)
            room -= feed.fill(min(due, self._rows_within(room)), room)
            self._note_size(feed)
            count = min(feed.ready, left, self._length - self._done)
            if count:
                self._check(feed)
                picks.add([feed], 1, count)
                left -= count
                self._done += count
                if self._done == self._length:
                    self._next_slot()
            elif feed.error is not None:
                raise feed.raised()
            else:
                # Rows that have been picked hold on to the arrays that they are views of.
                room -= sum(map(self._context.ledger.behind, feed.blocks))
                self._close_slot()
                self._next_slot()

    def _room(self, rows: int) -> int:
        """How many bytes to pick at once, of up to so many rows: joined, they are there twice."""
        context = self._context
        if context.stacks == 1:
            return context.block_bytes
        if not self._row_bytes:
            return 0  # it is one row that tells how large others may be
        free = context.ledger.room(context.account) + context.ledger.idle
        if rows >= context.stacks:  # which the op below begins to stack now
            free -= context.stacks * self._row_bytes
        return max(0, min(context.block_bytes, free // 2))

    def _note_size(self, feed: Feed) -> None:
        if feed.rows:
            self._row_bytes = max(self._row_bytes, feed.row_bytes, 1)

    def _rows_within(self, room: int) -> int:
        """How many rows take so much room: one, at least."""
        if self._context.stacks == 1:
            return NO_LIMIT
        return max(1, room // max(1, self._row_bytes))

    def _pick_rounds(self, left: int, picks: Picks, room: int) -> tuple[int, int]:
        """Pick whole rounds over all slots, where all have rows: how many, and the bytes that came.

        Each takes in no more than its part of the room: how many rows fill it was learned from others.
        """
        rounds = left // (self._length * len(self._slots))
        order = [*self._slots[self._at :], *self._slots[: self._at]]
        feeds = [feed for feed in order if feed is not None]
        rounds = min(rounds, self._rows_within(room) // (self._length * len(self._slots)))
        if self._done or rounds < 2 or len(feeds) < len(order) or self.branches.loose:
            return 0, 0
        size = self._fill(feeds, rounds * self._length, room // len(feeds))
        for feed in feeds:
            self._note_size(feed)
        rounds = min(rounds, *(feed.ready // self._length for feed in feeds))
        try:
            for feed in feeds if rounds else ():
                self._function.checked(feed.blocks[-1])
        except ElementError:
            return 0, size  # one by one, it is raised in its place
        picks.add(feeds, rounds, self._length)
        return rounds * self._length * len(feeds), size

    def _fill(self, feeds: Sequence[Feed], rows: int, room: int) -> int:
        """Have so many rows of each, half of them by another thread where that is worth it; their bytes."""
        sizes = [0] * len(feeds)

        def fill(first: int, stop: int) -> None:
            for i in range(first, stop):
                sizes[i] = feeds[i].fill(rows, room)

        much = min(rows * feed.row_bytes for feed in feeds) >= SHARED
        if much and len(feeds) > 1 and self._function.only_reads:
            middle = (len(feeds) + 1) // 2
            self._context.both(lambda: fill(0, middle), lambda: fill(middle, len(feeds)))
        else:
            fill(0, len(feeds))
        return sum(sizes)

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

    def _turn_to_ready(self, *, wait: bool) -> bool:
        """Go to the next slot that has something; whether there is one, which may be waited for."""
        while True:
            count = len(self._slots)
            for at in (*range(self._at, count), *range(self._at)):
                feed = self._slots[at]
                if feed is None:
                    ready = not self._ended and self.branches.has_next
                else:
                    ready = bool(feed.ready or feed.error or feed.ended or self.branches.ready(feed.source))
                if ready:
                    self._at = at
                    return True
            if self._ended and not any(self._slots):
                return True
            if not wait:
                return False
            opened = [feed.source for feed in self._slots if feed is not None]
            self.branches.wait(opened, more=not self._ended and len(opened) < count)

    def _at_hand(self, feed: Feed) -> int:
        """The rows that a slot can have without waiting, as many as are due."""
        return max(1, min(self._length - self._done, feed.ready + self.branches.ready(feed.source)))

    def _open(self) -> Feed | None:
        try:
            source = self.branches.next()
        finally:
            with self._lock:
                taken = self._waiting.popleft() if self._waiting else None
        if source is None:
            return None
        feed = Feed(source)
        feed.opened = taken
        return feed

    def begin(self) -> Opening | None:
        while self._taken < self._again_until and self._taken not in self._again:
            self._pass_over()
        with self._lock:
            self._waiting.append(Taken(self._taken, self._seen, self._upstream.state()))
            state = self._again.pop(self._taken, None)
            self._taken += 1
        block = self._upstream.pull(1)
        if block is None:
            return None
        number, self._seen = self._seen, self._seen + 1
        return Begun(self._function, block, number, state)

    def _pass_over(self) -> None:
        """Take an element in whose dataset has been read to its end, or which failed, before."""
        self._taken += 1
        try:
            self._seen += 0 if self._upstream.pull(1) is None else 1
        except ElementError as error:
            let_go(error)

    def _next_slot(self) -> None:
        self._at = (self._at + 1) % len(self._slots)
        self._done = 0

    def close(self) -> None:
        self._slots = [None] * len(self._slots)
