"""Several inputs read side by side, their rows put in one order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.build import concat, origin_of
from penstock.blocks.placed import picked
from penstock.errors import ElementError
from penstock.graph.running import Running
from penstock.graph.track import State, Track
from penstock.kernels.spans import Empty, offsets_of
from penstock.ops.parts.assembly import locked_like

NO_LIMIT = 1 << 62
"""More bytes than there are."""


class Feed:
    """One of the inputs. Rows that have been pulled wait here until they are picked."""

    def __init__(self, source: Running) -> None:
        self.source = source
        self.blocks: list[Block] = []
        self.rows = 0
        """The rows at hand, picked or not."""
        self.picked = 0
        self.row_bytes = 0
        """About the bytes of one of the rows that came last."""
        self.error: ElementError | None = None
        """What failed right after the rows at hand."""
        self.ended = False
        self.opened: Any = None
        """What its owner knows of how it was opened."""
        self._track = Track()
        self._track.stand(source.state())

    def state(self) -> State:
        """Where the input stood before the first row, or the error, that waits here; none may be picked."""
        return self._track.ahead()

    def restore(self, state: State) -> None:
        """Go to where another one stood."""
        self.source.restore(state)
        self._track.stand(state)

    def raised(self) -> ElementError:
        """What failed after the rows at hand, which is then used up."""
        error, self.error = self.error, None
        assert error is not None
        self._track.passed(1)
        return error

    @property
    def ready(self) -> int:
        """The rows at hand that have not been picked."""
        return self.rows - self.picked

    def fill(self, rows: int, room: int = NO_LIMIT) -> int:
        """Have `rows` rows ready, unless the input ends or fails before; the bytes that came.

        Fewer, but one at least, where those that came have taken `room` bytes.
        """
        size = 0
        if not self.rows and self.error is None and not self.ended:
            self._track.take(self.source.state)
        while self.ready < rows and not self.ended and self.error is None:
            if size >= room and self.ready:
                break
            try:
                block = self.source.pull(rows - self.ready)
            except ElementError as error:
                self.error = error
                break
            if block is None:
                self.ended = True
                break
            self.blocks.append(block)
            self.rows += block.rows
            self.row_bytes = block.nbytes // block.rows
            size += block.nbytes
        return size

    def pick(self, rows: int) -> int:
        """Pick the next `rows` ready rows; where they begin among the rows at hand."""
        start = self.picked
        self.picked += rows
        return start

    def picked_blocks(self) -> list[Block]:
        """The picked rows, which are then at hand no more."""
        out: list[Block] = []
        left = self.picked
        self._track.passed(left)
        self.rows -= self.picked
        self.picked = 0
        while left:
            block = self.blocks[0]
            if block.rows > left:
                self.blocks[0] = block.slice(left, block.rows)
                block = block.slice(0, left)
            else:
                del self.blocks[0]
            left -= block.rows
            out.append(block)
        return out

    def drop(self) -> None:
        """Forget the rows at hand."""
        self.blocks = []
        self.rows = self.picked = 0


class Picks:
    """Which rows of which feeds come next, in what order."""

    def __init__(self) -> None:
        self.feeds: dict[Feed, int] = {}
        """Each with its number."""
        self._which: list[NDArray[np.int64]] = []
        self._starts: list[NDArray[np.int64]] = []
        self._counts: list[NDArray[np.int64]] = []

    def add(self, feeds: Sequence[Feed], rounds: int, length: int) -> None:
        """The next `length` ready rows of each of these in turn, so many times."""
        if not rounds:
            return
        which = [self.feeds.setdefault(feed, len(self.feeds)) for feed in feeds]
        firsts = np.array([feed.pick(rounds * length) for feed in feeds], np.int64)
        self._which.append(np.tile(np.array(which, np.int64), rounds))
        self._starts.append((np.arange(rounds)[:, None] * length + firsts).ravel())
        self._counts.append(np.full(rounds * len(feeds), length, np.int64))

    def merged(self, empty: Empty) -> Block:
        """The rows, which are then at hand no more."""
        which, starts, counts = map(np.concatenate, (self._which, self._starts, self._counts))
        return merged(list(self.feeds), which, starts, counts, empty)


def merged(
    feeds: Sequence[Feed],
    which: NDArray[np.int64],
    starts: NDArray[np.int64],
    counts: NDArray[np.int64],
    empty: Empty,
) -> Block:
    """The picked rows in the order of the picks: of `feeds[which]`, `counts` rows from `starts`."""
    bases = offsets_of(np.array([feed.picked for feed in feeds], np.int64))
    blocks = [block for feed in feeds for block in feed.picked_blocks()]
    if len(blocks) == 1:
        return blocks[0]
    places = offsets_of(counts)
    index = np.repeat(bases[which] + starts - places[:-1], counts)
    index += np.arange(places[-1])
    strings = _long_strings(blocks, index, empty)
    if strings is not None:
        return strings
    # Blocks that are already in order are joined in one go, without a gather after it.
    rows = concat(blocks, empty)
    return locked_like(blocks, rows if (np.diff(index) == 1).all() else rows.take(index, empty))


def _long_strings(blocks: Sequence[Block], index: NDArray[np.int64], empty: Empty) -> Block | None:
    """The rows of these numbers, where they lie; None where they are not long strings and nothing else."""
    if any(block.numbers is not None for block in blocks):
        return None
    columns = []
    for parts in zip(*(block.columns for block in blocks), strict=True):
        column = picked(parts, index, empty)
        if column is None:
            return None
        columns.append(column)
    origin = origin_of(blocks)
    return Block(blocks[0].structure, columns, len(index), origin=origin and origin.take(index))
