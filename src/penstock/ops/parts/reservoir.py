"""The buffer of a shuffle at work: rows go in, and come out in another order.

Which slot comes out is decided here and in `kernels/order.py`; the rows are in a `SlotStore`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.columns import DenseColumn
from penstock.errors import ElementError
from penstock.kernels.holding import holding
from penstock.kernels.order import Drain, draws, exchange
from penstock.memory.slots import SlotStore
from penstock.ops.parts.bytebuffer import ByteBuffer
from penstock.ops.parts.coded import coded, decoded
from penstock.ops.parts.feeds import NO_LIMIT

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
        room: Callable[[int], bool] | None = None,
        fits: Callable[[int], bool] = lambda _: True,
        at_once: Callable[[], int] = lambda: NO_LIMIT,
    ) -> None:
        """With `room`, which reserves bytes, it knows which inputs its slots hold.

        `fits` says whether a row that comes out has room beside the one that comes in, and `at_once` how many
        bytes of them are to come out at once: they may be far larger than those that come in.
        """
        self._key = key
        self._size = size
        self._bytes = None if limit is None else ByteBuffer(key, limit)
        self._store = store
        self._pull = pull
        self._rows_for = rows_for
        self._numbered = numbered
        self._most = start_at  # rows to ask for at once
        self._seen = 0
        self._entered = 0  # elements, failed ones too
        self._held = 0
        self._drawn = 0
        self._errors: dict[int, ElementError] = {}
        self._ready: deque[Block | ElementError] = deque()
        self._drain: Drain | None = None
        self._drained = 0
        self._room = room
        self._fits = fits
        self._at_once = at_once
        self._parts: deque[Index] = deque()  # sources that are to come out, one part after another
        self._coming: tuple[Block, Index, Index] | None = None  # and what is then put into which slots
        self._inputs: Index | None = None  # which the slots hold, where they may hold any

    @property
    def rests(self) -> bool:
        """Whether all that has come out was handed on."""
        return not (self._ready or self._parts)

    @property
    def known(self) -> bool:
        """Whether it knows what it holds, and has a `state`."""
        return self._bytes is None or self._inputs is not None or not self._entered

    def oldest(self) -> int:
        """No input before this number will be needed again."""
        if self._inputs is None:
            return 0
        left = self._inputs[self._left()]
        return int(left.min()) if len(left) else self._entered

    def _left(self) -> Index:
        """The slots whose rows have not come out, in the order of their places."""
        held = self._held if self._bytes is None else self._bytes.held
        places = (
            np.arange(held) if self._drain is None else self._drain.slots(self._drained, held - self._drained)
        )
        return places if self._bytes is None else self._bytes.places(places)

    def state(self) -> dict[str, Any]:
        """Where it stands, between two pulls, when it `rests`: how its slots are to be filled again."""
        state: dict[str, Any] = {"entered": self._entered, "drained": self._drained if self._drain else None}
        if self._bytes is not None:
            held = self._bytes.places(np.arange(self._bytes.held))
            inputs = np.zeros(0, np.int64) if self._inputs is None else self._inputs
            state["buffer"] = {**self._bytes.state(), "inputs": coded(inputs[held])}
        return state

    def restore(self, state: dict[str, Any]) -> tuple[Index, Index]:
        """Stand where another one did: which slots are to be filled (`refill`), and with which inputs."""
        self._entered, drained = state["entered"], state["drained"]
        if self._bytes is not None:
            self._bytes.restore(state["buffer"])
            inputs = decoded(state["buffer"]["inputs"])
        elif self._size is None or self._entered <= self._size:
            inputs = np.arange(self._entered)
        else:
            self._drawn = self._entered - self._size
            inputs = holding(self._key, self._size, self._drawn)
        self._held = len(inputs)
        if self._bytes is not None or self._drawn:
            self._note_inputs(np.arange(self._held), inputs)
        if drained is not None:
            self._drain, self._drained = Drain(self._key, len(inputs)), drained
        slots = self._left()
        return slots, inputs[slots]

    def refill(self, slots: Index, block: Block, rows: Index, first: int) -> None:
        """Put these rows of a block, whose first has the number `first`, into these slots."""
        if len(slots):
            self._seen = first
            self._store.put(slots, self._with_numbers(block), rows)
        self._seen = first + block.rows

    def refill_failed(self, slot: int, error: ElementError) -> None:
        """Put a failed element into a slot."""
        self._errors[slot] = error.with_traceback(None)  # its frames hold blocks

    def pull(self, rows: int) -> Block | None:
        """From 1 up to `rows` rows; None at the end."""
        while not self._ready:
            if self._parts:
                self._emit_part()
            elif self._drain is None:
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
        self._inputs = None
        self._ready.clear()
        self._parts.clear()
        self._coming = None
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
        self._entered += block.rows
        if self._bytes is None and filling:
            self._store.put(np.arange(self._held, self._held + block.rows), block)
            self._held += block.rows
            return
        sources, rows_in, slots = self._exchange(block)
        self._note_inputs(slots, self._entered - block.rows + rows_in)
        if len(sources) == len(slots) == block.rows == 1 and not self._fits(block.nbytes):
            spare = self._store.put_aside(block, int(slots[0]))
            del block  # its memory is for the row that comes out
            self._emit(sources, None)
            self._store.move(spare, int(slots[0]))
            return
        parts = self._in_parts(sources)
        if len(parts) > 1:
            self._parts, self._coming = parts, (block, slots, rows_in)
            return
        if self._bytes is None and not self._errors:
            self._ready.append(self._store.exchange(sources, block, slots, rows_in))
            return
        self._emit(sources, block)
        self._store.put(slots, block, rows_in)

    def _in_parts(self, sources: Index) -> deque[Index]:
        """The sources in parts, each as large as may come out at once: one row, at least."""
        slots = sources[sources >= 0]
        if self._errors:
            slots = slots[~np.isin(slots, np.fromiter(self._errors, np.int64, len(self._errors)))]
        known = self._store.sizes(slots) if len(slots) else None
        room = self._at_once()
        if known is None or int(known.sum()) <= room:
            return deque([sources])
        sizes = np.zeros(len(sources), np.int64)  # what has just come in has its room already
        sizes[np.isin(sources, slots)] = known
        parts: deque[Index] = deque()
        start, upto = 0, np.cumsum(sizes)
        while start < len(sources):
            before = int(upto[start] - sizes[start])
            stop = max(start + 1, int(np.searchsorted(upto, before + room, side="right")))
            parts.append(sources[start:stop])
            start = stop
        return parts

    def _emit_part(self) -> None:
        """Have the next part come out; after the last one, what came in takes the slots."""
        self._emit(self._parts.popleft(), self._coming and self._coming[0])
        if self._coming and not self._parts:
            (block, slots, rows), self._coming = self._coming, None
            self._store.put(slots, block, rows)

    def _exchange(self, block: Block) -> tuple[Index, Index, Index]:
        """Every row draws a slot: what comes out, which rows stay, and the slots where they are to be put."""
        if self._bytes is not None:
            return self._bytes.enter(block)
        assert self._size is not None
        sources, slots, last = exchange(self._key, self._drawn, block.rows, self._size)
        self._drawn += block.rows
        return sources, last, slots

    def _note_inputs(self, slots: Index, numbers: Index) -> None:
        if self._room is None or not len(slots):
            return
        most = int(slots.max()) + 1
        have = 0 if self._inputs is None else len(self._inputs)
        if most > have:
            # Before any is drawn, every slot holds the input of its number.
            most = self._size or max(most, have * 9 // 8)
            if not self._room(8 * (most - have)):
                self._inputs = self._room = None
                return
            grown = np.arange(most)
            if self._inputs is not None:
                grown[:have] = self._inputs
            self._inputs = grown
        assert self._inputs is not None
        self._inputs[slots] = numbers

    def _take_error(self, error: ElementError) -> None:
        self._entered += 1
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
        if self._bytes is not None or self._drawn:
            self._note_inputs(np.array([slot]), np.array([self._entered - 1]))

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
        self._parts = self._in_parts(slots)
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
