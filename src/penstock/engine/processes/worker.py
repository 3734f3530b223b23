"""What a worker process does: calls the user's functions with the rows that lie in a slab."""

from __future__ import annotations

import contextlib
import ctypes
import io
import math
import os
import pickle
import random
import resource
import socket
import sys
import weakref
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.structure import LEAF
from penstock.engine.processes.slab import NO_ROW, Laid, Laying, Slab, copied, lying, slab_bytes
from penstock.engine.processes.surroundings import surround, warn_like
from penstock.engine.processes.travel import Parcel, as_sent, dumps, dumps_with, opened
from penstock.engine.processes.wire import Found, Hangup, How, receive, send
from penstock.functions import function
from penstock.functions.plain_rows import Outcome, PlainRows

if TYPE_CHECKING:
    from penstock.functions.row_function import RowFunction

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""What glibc calls them in `mallopt`."""
_LARGE = 128 << 10
"""Bytes of an array that is worth its place in a slab."""
_KEPT = 64 << 20
"""Bytes that are kept for the next block, when they are freed."""


def work(link: socket.socket) -> None:
    """Until the other side is gone."""
    # Forked workers would otherwise all draw the same numbers. To seed it with more writes to far more pages.
    if "numpy.random" in sys.modules:  # else it is seeded when it is loaded
        np.random.seed(int.from_bytes(os.urandom(4), "little"))
    random.seed()
    function.in_worker = True
    if isinstance(sys.stdout, io.TextIOWrapper):  # lines of several workers come whole
        sys.stdout.reconfigure(line_buffering=True, write_through=False)
    worker = Worker(link)
    try:
        while True:
            worker.answer()
    except Hangup:
        return


class Worker:
    """What one worker knows: the functions, and its slabs."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self._rows: PlainRows | None = None
        self._over_block: RowFunction | None = None
        """What calls them over whole blocks, where that is asked for."""
        self._errors: dict[str, Any] = {}
        self._given: Slab | None = None
        self._made: Slab | None = None
        self._for_results: dict[int, Slab] = {}
        """All slabs for results, by their numbers: `_made` is the one of this call."""
        self._slab_is_free = False
        """Whether nothing has been made in the slab for results, in this call."""
        self._copies = False
        """Whether the functions keep what they are given: then they get copies."""
        self._seeded = False
        """Whether torch, if it is there, draws other numbers here than in other workers."""
        self._told = False
        """Whether it was told what the first result of the stream looks like."""

    def answer(self) -> None:
        """Do what is asked for next."""
        try:
            request, descriptors = receive(self._link)
        except Hangup:
            raise
        except Exception as error:  # elements are of classes that cannot be found here
            self._say_unreadable(error)
            return
        getattr(self, request[0])(*request[1:], descriptors)

    def start(
        self, parcel: Parcel, around: dict[str, Any], over_block: bool, kernels: bool, descriptors: list[int]
    ) -> None:
        """Load the functions, in the surroundings of the process that they come from, and its kernels."""
        surround(around)
        self._errors = around["errors"]
        try:
            functions = opened(parcel, descriptors[0])
            warn_like(around["warnings"])
            if over_block:
                from penstock.functions.row_function import RowFunction  # others start without it

                _keep_freed()
                if kernels:
                    from penstock.kernels import loading

                    loading.load()
                self._over_block = RowFunction(functions, self._empty)
                self._rows = self._over_block.plain
            else:
                self._rows = PlainRows(functions)
        except BaseException as error:
            send(self._link, ("refused", _module_of(error), f"{type(error).__name__}: {error}"))
        else:
            send(self._link, ("ready",))
        finally:
            os.close(descriptors[0])

    def _say_unreadable(self, error: Exception) -> None:
        send(self._link, ("unreadable", _module_of(error), f"{type(error).__name__}: {error}"))

    def _seed(self) -> None:
        """Forked workers, and those that load torch by themselves, would all draw the same numbers of it."""
        torch: Any = None if self._seeded else sys.modules.get("torch")
        if hasattr(torch, "manual_seed"):  # else somebody is loading it
            self._seeded = True
            torch.manual_seed(int.from_bytes(os.urandom(8), "little"))

    def given(self, size: int, descriptors: list[int]) -> None:
        """Read rows from this slab from now on."""
        if self._given is not None:
            self._given.close()
        self._given = Slab(descriptors[0], size)

    def made(self, number: int, size: int, descriptors: list[int]) -> None:
        """Results may be laid into this slab."""
        self._for_results[number] = Slab(descriptors[0], size)

    def call(
        self,
        laid: Laid,
        how: How,
        structure: Any,
        given: int,
        made_in: tuple[int, int],
        dropped: tuple[int, ...],
        descriptors: list[int],
    ) -> None:
        """Call the functions with the rows in one slab, and lay the results into another."""
        for number in dropped:
            self._for_results.pop(number).close()
        self._made = self._for_results[made_in[0]]
        assert self._rows is not None and self._given is not None, descriptors
        if structure is not None:
            self._rows.structure, self._told = LEAF if structure.is_leaf else structure, True
        elif not self._told:
            self._rows.structure = None  # what it has made before may come later in the stream
        self._given.see(given)
        self._made.see(made_in[1])
        mark = self._made.progress()
        over_block = None if how.row_by_row else self._over_block
        mark[0] = 0 if over_block is None else NO_ROW
        self._slab_is_free = True
        self._seed()
        began = perf_counter()
        raised = None
        outcome: Outcome | None = None
        try:
            block, kept = self._block(laid)
        except Exception as error:
            mark.release()
            self._say_unreadable(error)
            return
        try:
            numbers = block.numbers
            assert numbers is not None
            block.numbers = None
            with np.errstate(**self._errors):
                if over_block is None:
                    outcome = self._rows.apply(block, numbers, how.room, mark)
                else:
                    over_block.expect(block, how.row_bytes)
                    outcome = over_block.here(block, numbers, how.room, how.place)
            del block
        except BaseException as error:  # whatever it is, it is raised there
            raised = as_sent(error)
        finally:
            mark.release()
        try:
            laying = None if outcome is None or outcome.block is None else Laying(outcome.block, dumps)
        except Exception as error:
            send(self._link, ("unsendable", f"{type(error).__name__}: {error}"))
            return
        if laying is not None:
            laying.clear_of(self._made)
        took = perf_counter() - began
        used = 0 if outcome is None else outcome.used
        failed = None if outcome is None or outcome.error is None else as_sent(outcome.error)
        del outcome
        if laying is not None and not self._fits(laying):
            return
        if laying is not None:
            laying.write(self._made)
        made = None if laying is None else laying.laid
        del laying
        if kept() is not None:
            self._copies = True
        if sys.stdout is not None:  # a program may have none
            with contextlib.suppress(OSError, ValueError):  # nobody reads it any more, or its disk is full
                sys.stdout.flush()
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
        structure = None if made is None else made.packed.structure
        found = Found() if over_block is None else Found(over_block.row_bytes, over_block.why)
        answer = ("done", used, made, failed, raised, self._copies, memory, took, found)
        send(self._link, answer, dumps=dumps_with((), structure))

    def close(self) -> None:
        """Give the slabs back."""
        for slab in (self._given, *self._for_results.values()):
            if slab is not None:
                slab.close()

    def _empty(self, shape: Any, dtype: Any) -> NDArray[Any]:
        """An array for results: the first large one of a call lies where it is handed over."""
        size = (shape if isinstance(shape, int) else math.prod(shape)) * np.dtype(dtype).itemsize
        if self._slab_is_free and size >= _LARGE and self._made is not None:
            raw = self._made.bytes()
            if size <= raw.nbytes:
                self._slab_is_free = False
                place: NDArray[Any] = raw[:size].view(dtype)
                return place.reshape(shape)
        return np.empty(shape, dtype)

    def _block(self, laid: Laid) -> tuple[Block, Any]:
        assert self._given is not None
        raw = self._given.bytes()
        block = lying(laid, raw, pickle.loads)
        end = laid.nbytes
        numbers = raw[end : end + 8 * block.rows].view(np.int64).copy()
        if self._copies:
            block = copied(block, laid, np.empty)
        block.numbers = numbers
        return block, weakref.ref(raw)

    def _fits(self, laying: Laying) -> bool:
        """Whether there is room for the results; asks for more where there is not."""
        assert self._made is not None
        if slab_bytes(laying.laid.nbytes) <= self._made.size:
            return True
        send(self._link, ("room", slab_bytes(laying.laid.nbytes)))
        (answer, size), _ = receive(self._link)
        if answer != "grown":
            return False
        self._made.see(size)
        return True


def _module_of(error: BaseException) -> str | None:
    """The module that was not found, or in which something was not."""
    if isinstance(error, ImportError) and error.name:
        return error.name
    found = getattr(getattr(error, "obj", None), "__name__", None)
    return found if isinstance(error, AttributeError) and isinstance(found, str) else None


def _keep_freed() -> None:
    """Have the C library keep what is freed: results of all blocks then lie on the same pages."""
    with contextlib.suppress(OSError, AttributeError):  # another C library does as it does
        library = ctypes.CDLL(None)
        library.mallopt(_MMAP_THRESHOLD, _KEPT // 2)
        library.mallopt(_TRIM_THRESHOLD, _KEPT)
