"""What a worker does that nobody has yet: all that its first call will do, so that this takes half the time.

A forked process shares the pages of its parent until it writes to them. Then each is copied, at three
microseconds a page on a virtual machine, and a first call writes to some hundreds.
"""

from __future__ import annotations

import os
import pickle
import socket
from collections.abc import Iterator
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np

from penstock.blocks.block import Block
from penstock.blocks.columns import DenseColumn
from penstock.blocks.structure import LEAF
from penstock.engine.processes.slab import STEP, Laying, Slab
from penstock.engine.processes.surroundings import surroundings
from penstock.engine.processes.travel import Parcel
from penstock.engine.processes.wire import How, readable, send
from penstock.engine.processes.worker import Worker
from penstock.functions.function import UserFunction


class _Nowhere(NamedTuple):
    """No op of anybody's."""

    site: str = ""


def rehearse(link: socket.socket) -> None:
    """Do it once, for nobody; stop as soon as somebody asks for something over the link."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)  # a message that does not fit is read by nobody until all of it is sent
    with (
        ours,
        theirs,
        closing(Worker(theirs)) as worker,
        closing(Slab.make(STEP)) as given,
        closing(Slab.make(STEP)) as made,
    ):
        for message, descriptor in _messages(given, made):
            if readable(link.fileno(), 0):
                return
            send(ours, message, (descriptor,) if descriptor else ())
            worker.answer()


def _messages(given: Slab, made: Slab) -> Iterator[tuple[tuple[Any, ...], int]]:
    """What a first call is asked for by, each with the descriptor that goes along, if one does."""
    pickled = pickle.dumps(([UserFunction(int, _Nowhere(), "")], {}, {}), pickle.HIGHEST_PROTOCOL)
    functions = os.memfd_create("penstock-rehearsal", os.MFD_CLOEXEC)
    try:
        os.write(functions, pickled)
        yield ("start", Parcel(len(pickled), (), len(pickled)), surroundings(), False, False), functions
    finally:
        os.close(functions)
    yield ("given", given.size), given.descriptor
    yield ("made", made.number, made.size), made.descriptor
    numbers = np.arange(2)
    laying = Laying(Block(LEAF, [DenseColumn(numbers)], len(numbers)), pickle.dumps)
    laying.write(given)
    given.bytes()[laying.laid.nbytes : laying.laid.nbytes + numbers.nbytes].view(np.int64)[:] = numbers
    how = How(room=STEP, place=0, row_by_row=True, row_bytes=0)
    yield ("call", laying.laid, how, None, given.size, (made.number, made.size), ()), 0
