"""What two cores can do with the raw images: loops that know these files, on two threads, and nothing else.

One thread reads and checks records, the other one exchanges them with a buffer of 2,000 and casts what
comes out. No budget, no states, no errors, no other layout of the records.
"""

import os
import queue
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

PIECE = 1 << 20
RECORDS = 256
KEPT = 6
"""Batches that are there at once: a later one is written where one was that is gone."""


class Bare:
    """The stream of one pass after another."""

    def __init__(self, paths: list[str], shape: tuple[int, ...], buffer: int, batch: int) -> None:
        self._paths, self._shape, self._batch = paths, shape, batch
        self._size = int(np.prod(shape))
        self._held = np.zeros((buffer, self._size), np.uint8)
        self._random = np.random.default_rng()
        self._exchange = exchange_loop()

    def __iter__(self) -> Iterator[Any]:
        pieces: queue.Queue[Any] = queue.Queue(2)
        free: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for _ in range(4):
            free.put((np.empty(PIECE, np.uint8), np.empty(RECORDS + 1, np.int64)))
        reader = threading.Thread(target=self._read, args=(pieces, free))
        reader.start()
        ring = [np.empty((self._batch, self._size), np.float32) for _ in range(KEPT)]
        turn = full = filled = 0
        while (piece := pieces.get()) is not None:
            data, bounds, rows = piece
            slots = self._random.integers(0, len(self._held), rows)
            row = 0
            while row < rows:
                out = ring[turn % KEPT]
                row, full, filled = self._exchange(
                    data, bounds, row, rows, slots, self._held, filled, out, full
                )
                if full == self._batch:
                    yield out.reshape(self._batch, *self._shape)
                    turn, full = turn + 1, 0
            free.put((data, bounds))
        reader.join()
        left = self._held[self._random.permutation(filled)]
        for first in range(0, len(left), self._batch):
            out = ring[turn % KEPT]
            some = left[first : first + self._batch - full]
            out[full : full + len(some)] = some
            yield out.reshape(self._batch, *self._shape)
            turn, full = turn + 1, 0

    def _read(self, pieces: Any, free: Any) -> None:
        from penstock.kernels.frames import unframe

        data = np.empty(PIECE, np.uint8)
        for path in self._paths:
            file = os.open(path, os.O_RDONLY)
            have = 0
            while count := os.readv(file, [data[have:]]):
                have += count
                out, bounds = free.get()
                rows, at, _, _ = unframe(data, 0, have, out, 0, bounds, RECORDS)
                pieces.put((out, bounds, rows))
                data[: have - at] = data[at:have].copy()
                have -= at
            os.close(file)
        pieces.put(None)


def exchange_loop() -> Any:
    """The compiled loop: it puts rows into the buffer, and casts those that leave it, until `out` is full."""
    import numba

    @numba.njit(nogil=True)
    def move(come, go):  # type: ignore[no-untyped-def]
        for i in range(len(go)):
            go[i] = come[i]

    @numba.njit(nogil=True)
    def exchange(data, bounds, row, rows, slots, held, filled, out, full):  # type: ignore[no-untyped-def]
        size = held.shape[1]
        while row < rows and full < len(out):
            first, start = bounds[row], bounds[row + 1] - size
            for at in range(first, first + 32):  # the image may come first, behind its key
                if data[at] == 105 and data[at + 1] == 109 and data[at + 2] == 97 and data[at + 4] == 101:
                    start = at + 14
            slot = filled
            if filled < len(held):
                filled += 1
            else:
                slot = slots[row]
                move(held[slot], out[full])
                full += 1
            move(data[start : start + size], held[slot])
            row += 1
        return row, full, filled

    return exchange
