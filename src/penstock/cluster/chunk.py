"""Some rows on their way: to a worker, and back as what the maps have made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.cluster.worker import Made

if TYPE_CHECKING:
    from penstock.cluster.crew import Member

SPLIT = 2
"""A chunk whose workers were lost so often is done in halves: maybe one of its rows kills them."""
GIVEN_UP = 3
"""A row whose workers were lost so often is taken to be what kills them."""


class Chunk:
    """The rows from `first` up to `last` of a parcel in the object store.

    It is kept until what came of it has arrived, so that another worker can do it again.
    """

    def __init__(self, ref: Any, first: int, last: int, start: int, taken: int) -> None:
        self.ref = ref
        self.first = first
        self.last = last
        self.start = start
        """How many rows have come before it."""
        self.taken = taken
        """The bytes of its rows."""
        self.reserved = 0
        self.losses = 0
        self.large = False
        """There was no room for what came of it: it is done when it is the first."""
        self.state: Any = None
        """Of the op above before it, if it was taken."""
        self.assumed: tuple[int, ...] = ()
        """How many elements each map was taken not to have got, because they had failed before it."""
        self.member: Member | None = None
        self.made: Made | None = None
        self.answer: Any = None
        self.data: Any = None

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return self.last - self.first

    @property
    def waits(self) -> bool:
        """Whether it is to be given to a worker."""
        return self.member is None and self.made is None

    def reset(self) -> None:
        """Have it done again."""
        self.member = self.made = self.answer = self.data = None

    def halves(self) -> tuple[Chunk, Chunk]:
        """Two chunks in its place."""
        middle = self.first + self.rows // 2
        left = Chunk(self.ref, self.first, middle, self.start, self.taken // 2)
        right = Chunk(self.ref, middle, self.last, self.start + left.rows, self.taken - left.taken)
        left.reserved = self.reserved // 2
        right.reserved = self.reserved - left.reserved
        left.state = self.state
        left.losses = right.losses = SPLIT - 1
        return left, right
