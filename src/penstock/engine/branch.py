"""One of several datasets that are read ahead: what is ready of it, and where it stands."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from penstock.blocks.block import Block
from penstock.engine.demand import Demand
from penstock.errors import ElementError
from penstock.graph.branching import Opening
from penstock.graph.running import Input, Running
from penstock.graph.track import Pace, State, Track

if TYPE_CHECKING:
    from penstock.engine.branches import SideBySide


class Branch(Running):
    """A dataset: to be opened, or open, with a queue of what has been read of it.

    The fields are the owner's, under its lock; but whoever is `busy` with it has the source for itself.
    """

    exact = True

    def __init__(
        self, owner: SideBySide, opening: Opening | None, failed: BaseException | None = None
    ) -> None:
        context = owner._context
        self._owner = owner
        self.opening = opening
        self.failed = failed
        """Why it could not be opened."""
        self.source: Input | None = None
        self.queue: deque[tuple[Block | BaseException | None, State | None]] = deque()
        self.ready_bytes = 0
        self.largest = 0
        self.claimed = 0
        self.busy = False
        self.wanted = False  # whether somebody waits for it
        self.postponed = False  # whether it is opened no sooner than it is wanted
        self.over = False  # whether there is nothing more to read
        self.closed = False
        self._demand = Demand(context.rows_for, context.options.block_rows)
        self._pace = Pace()
        self._before: State | None = None
        self._track = Track()
        self._track.stand(None if opening is None else opening.state)

    @property
    def may_go_on(self) -> bool:
        """Whether it can be worked on ahead."""
        return not (
            self.busy or self.over or self.closed or self.failed or (self.postponed and not self.wanted)
        )

    @property
    def untouched(self) -> bool:
        """Whether it is open, and nothing has been read of it."""
        return self.source is not None and not (self.largest or self.queue or self.over)

    @property
    def ready(self) -> int:
        """How many rows can be had at once; 1 for an error or the end."""
        if not self.queue:
            return 0
        head = self.queue[0][0]
        return head.rows if isinstance(head, Block) else 1

    def read(self) -> Block | None:
        """The next block of the source, with where that stood before it."""
        assert self.source is not None
        self._before = self._pace.taken(self.source.state) if self._pace.due else None
        return self._demand.pull(self.source)

    def put(self, item: Block | BaseException | None) -> None:
        """Add what has been read."""
        if isinstance(item, Block):
            self.ready_bytes += item.nbytes
            self.largest = max(self.largest, item.nbytes)
        self.over = not isinstance(item, Block | ElementError)
        self.wanted = False
        if not self.closed:
            self.queue.append((item, self._before))

    def taken(self, rows: int) -> Block | BaseException | None:
        """Take up to `rows` rows out of the queue, an error, or the end, which stays."""
        head, state = self.queue.popleft()
        if state is not None:
            self._track.stand(state)
        if isinstance(head, Block):
            self.ready_bytes -= head.nbytes
            if head.rows > rows:
                rest = head.slice(rows, head.rows)
                head = head.slice(0, rows)
                self.queue.appendleft((rest, None))
                self.ready_bytes += rest.nbytes
            self._track.passed(head.rows)
        elif head is None:
            self.queue.append((None, None))
        else:
            self._track.passed(1)
        return head

    def pull(self, rows: int) -> Block | None:
        head = self._owner.take(self, rows)
        if isinstance(head, BaseException):
            try:
                raise head
            finally:
                del head  # an error that is a variable of its own frame would keep it alive
        return head

    def state(self) -> Any:
        """Where the source stood when it had given what has been taken, and no more."""
        return self._track.ahead()

    def close(self) -> None:
        self._owner.end(self)

    def postpone(self) -> None:
        """Close it, though nothing has been taken of it, until somebody waits for it: it begins anew then."""
        self.close_source()
        self.source = None
        self.queue.clear()
        self.ready_bytes = 0
        self.over = False
        self.postponed = True

    def close_source(self) -> None:
        """Close the dataset itself."""
        if self.source is not None:
            self.source.close()
