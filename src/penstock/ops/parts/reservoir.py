"""The buffer of a shuffle at work: rows go in, and come out in another order.

Which slot comes out is decided here and in `kernels/order.py`; the rows are in a `SlotStore`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.columns import DenseColumn
from penstock.errors import ElementError
from penstock.kernels.order import Drain, chain, draws
from penstock.memory.slots import SlotStore
from penstock.ops.parts.bytebuffer import ByteBuffer

Index = NDArray[np.int64]
Pull = Callable[[int], "Block | None"]


class Reservoir:
    """Fills `size` slots, then gives a drawn one for every row that comes, then drains.

    A failed element takes a slot as a good one does, and is raised when it is drawn.
    """

    def __init__(
        self,
        key: int,
        size: int | None,
        limit: int | None,
        store: SlotStore,
        pull: Pull,
        rows_for: Callable[[int], int],
        *,
        numbered: bool = False,
        start_at: int = 1,
    ) -> None:
        self._key = key
        self._size = size
        self._bytes = None if limit is None else ByteBuffer(key, limit)
        self._store = store
        self._pull = pull
        self._rows_for = rows_for
        self._numbered = numbered
        self._most = start_at  # rows to ask for at once
        self._seen = 0
        self._held = 0
        self._drawn = 0
        self._errors: dict[int, ElementError] = {}
        self._ready: deque[Block | ElementError] = deque()
        self._drain: Drain | None = None
        self._drained = 0

    def pull(self, rows: int) -> Block | None:
        """From 1 up to `rows` rows; None at the end."""
        while not self._ready:
            if self._drain is None:
                self._take_in(rows)
            elif not self._let_out(min(rows, self._most)):
                return None
        head = self._ready.popleft()
        if isinstance(head, ElementError):
            raise head
        if head.rows > rows:
            self._ready.appendleft(head.slice(rows, head.rows))
            head = head.slice(0, rows)
        return self._plain(head)

    def close(self) -> None:
        """Forget all rows."""
        self._ready.clear()
        self._errors.clear()
        self._store.close()

    def _take_in(self, rows: int) -> None:
        filling = self._size is None or self._held < self._size
        if self._bytes is None and filling:
            rows = self._most if self._size is None else min(self._most, self._size - self._held)
        try:
            block = self._pull(min(rows, self._most))
        except ElementError as error:
            self._take_error(error)
            return
        if block is None:
            held = self._held if self._bytes is None else self._bytes.held
            self._drain = Drain(self._key, held)
            return
        self._most = min(2 * self._most, self._rows_for(block.nbytes // block.rows))
        block = self._with_numbers(block)
        if self._bytes is not None:
            sources, rows_in, slots = self._bytes.enter(block)
            self._emit(sources, block)
            self._store.put(slots, block, rows_in)
        elif filling:
            self._store.put(np.arange(self._held, self._held + block.rows), block)
            self._held += block.rows
        else:
            self._exchange(block)

    def _exchange(self, block: Block) -> None:
        """Every row draws a slot, whose content comes out, and takes its place."""
        assert self._size is not None
        slots = draws(self._key, self._drawn, block.rows, self._size)
        self._drawn += block.rows
        earlier, last = chain(slots, self._size)
        self._emit(np.where(earlier < 0, slots, -1 - earlier), block)
        self._store.put(slots[last], block, last)

    def _take_error(self, error: ElementError) -> None:
        if self._bytes is not None:
            slot = self._bytes.enter_failed()
        elif self._size is None or self._held < self._size:
            slot = self._held
            self._held += 1
        else:
            drawn = draws(self._key, self._drawn, 1, self._size)
            self._drawn += 1
            self._emit(drawn, None)
            slot = int(drawn[0])
        self._errors[slot] = error.with_traceback(None)  # its frames hold blocks

    def _let_out(self, rows: int) -> bool:
        assert self._drain is not None
        rows = min(rows, self._drain.size - self._drained)
        if rows == 0:
            self.close()
            return False
        slots = self._drain.slots(self._drained, rows)
        self._drained += rows
        if self._bytes is not None:
            slots = self._bytes.places(slots)
        self._emit(slots, None)
        return True

    def _emit(self, sources: Index, block: Block | None) -> None:
        """Make the rows of these sources ready, and raise failed ones in their place."""
        start = 0
        if self._errors:
            failed = np.isin(sources, np.fromiter(self._errors, np.int64, len(self._errors)))
            for place in np.flatnonzero(failed).tolist():
                if place > start:
                    self._ready.append(self._store.gather(sources[start:place], block))
                self._ready.append(self._errors.pop(int(sources[place])))
                start = place + 1
        if start < len(sources):
            self._ready.append(self._store.gather(sources[start:], block))

    def _with_numbers(self, block: Block) -> Block:
        """The block with its rows' numbers as a last column, so that they stay with the rows."""
        first = self._seen
        self._seen += block.rows
        if not self._numbered:
            return block
        numbers = DenseColumn(np.arange(first, self._seen))
        return Block(block.structure, (*block.columns, numbers), block.rows)

    def _plain(self, block: Block) -> Block:
        if not self._numbered:
            return block
        numbers = block.columns[-1]
        assert isinstance(numbers, DenseColumn)
        return Block(block.structure, block.columns[:-1], block.rows, numbers.array)
