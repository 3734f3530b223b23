"""One worker, seen from this process: what it is asked, what it answers, and its end."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
import threading
from time import monotonic
from typing import Any

from penstock.engine.processes.lost import WorkerLost, how_it_ended, kills, resident
from penstock.engine.processes.server_link import Forked
from penstock.engine.processes.serving import serving
from penstock.engine.processes.slab import Slab
from penstock.engine.processes.wire import STATUS, Hangup, answer, readable, send

SWEPT = 0.3
"""Seconds that closing waits for the server, all workers together."""
LOOK = 0.1
"""Seconds between two looks at a worker that is at work: how far it is, what it holds."""
REAPED = 1.0
"""Seconds that a worker has to end when it is killed, and the server to tell how."""


class Link:
    """A worker with its slabs. One thread at a time asks it; any may kill it."""

    def __init__(self, forked: Forked) -> None:
        self.pid = forked.pid
        self._ended = forked.ended
        self._link = forked.link
        self._status = forked.status
        self._lock = threading.Lock()
        self._kills: int | None = None
        self._killed = False
        self.memory = 0
        self.given: Slab | None = None
        self.made: Slab | None = None
        self.spare: list[Slab] = []
        """Others for results, which the worker knows."""
        self.out: set[Slab] = set()
        """Those in which blocks lie that were handed on."""
        self.dropped: list[int] = []
        """The numbers of those that are gone, which the worker is to be told."""
        self.dismissed = False
        """Whether nobody lends its slabs any more."""
        self._last = 0
        self._waits = 0.0
        self.copies = False
        self.structured = False
        """Whether the worker knows the structure of the results."""
        self.by_value: frozenset[str] = frozenset()
        """The modules whose functions have gone to it by value."""
        serving.links.add(self)

    def look(self) -> None:
        """Note what there is to compare with when it has ended. That takes a while, in which it may load."""
        self._kills = kills.recently()

    def send(self, message: tuple[Any, ...], descriptors: tuple[int, ...] = (), dumps: Any = None) -> None:
        """Tell the worker something."""
        try:
            send(self._link, message, descriptors, dumps)
        except Hangup:
            raise self._lost(None) from None

    def receive(self, timeout: float | None = None) -> tuple[Any, ...]:
        """The worker's answer; `WorkerLost` if it dies, or is at one row for longer than `timeout`."""
        row, since = self.row, monotonic()
        look = LOOK if timeout is None else min(LOOK, timeout / 4)
        self._wait_for(look)
        while True:
            try:
                return tuple(answer(self._link, self._gone))
            except BlockingIOError:
                pass
            except (Hangup, EOFError):
                raise self._lost(None) from None
            if self._gone():
                raise self._lost(None)
            self.memory = resident(self.pid) or self.memory
            if self.row != row:
                row, since = self.row, monotonic()
            elif timeout is not None and monotonic() - since > timeout:
                self.kill()
                raise self._lost(timeout)

    def _gone(self) -> bool:
        """Whether the server has told of its end."""
        return readable(self._status, 0)

    def _wait_for(self, seconds: float) -> None:
        """Have the socket wait so long for an answer: a poll before it would be one more call."""
        if seconds != self._waits:
            whole = int(seconds)
            after = max(1000, int((seconds - whole) * 1e6))
            self._link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@ll", whole, after))
            self._waits = seconds

    def slab(self, size: int) -> Slab:
        """A new slab for results, which the worker is told of."""
        made = self.untold(size)
        try:
            self.tell(made)
        except BaseException:
            made.close()
            raise
        return made

    def untold(self, size: int) -> Slab:
        """A new slab for results, which the worker is to be told of."""
        made = Slab.make(size)
        self._last += 1
        made.number = self._last
        return made

    def tell(self, made: Slab) -> None:
        """Tell the worker of a slab for results."""
        self.send(("made", made.number, made.size), (made.descriptor,))

    def tell_given(self) -> None:
        """Tell the worker which slab to read rows from."""
        assert self.given is not None
        self.send(("given", self.given.size), (self.given.descriptor,))

    @property
    def row(self) -> int:
        """The row that the worker is at."""
        if self.made is None:
            return 0
        with self.made.progress() as mark:
            return int(mark[0])

    def _lost(self, stuck: float | None) -> WorkerLost:
        compared = not self._killed and self._kills is not None
        # Where the run has ended it, nobody asks how: the server may be importing something.
        status = None if self._killed and stuck is None else self._wait_for_end()
        by_limit = compared and kills.now() > (self._kills or 0)
        how = how_it_ended(status, memory=self.memory, by_limit=by_limit, stuck=stuck)
        return WorkerLost(how, self.row, by_itself=status is not None or stuck is not None)

    def _wait_for_end(self) -> int | None:
        """Its status as `os.waitpid` gives it; None if the server is gone and nobody knows."""
        self.kill()
        with self._lock:
            if self._status < 0:
                return None
            told = os.read(self._status, STATUS.size) if readable(self._status, REAPED) else b""
        return STATUS.unpack(told)[0] if len(told) == STATUS.size else None

    def kill(self) -> None:
        """End the worker, whatever it does; whoever waits for its answer gets `WorkerLost`."""
        self._killed = True
        with self._lock:
            if self._ended >= 0:
                with contextlib.suppress(OSError):
                    signal.pidfd_send_signal(self._ended, signal.SIGKILL)

    def close(self, until: float | None = None) -> int:
        """Forget a worker, having waited for its end; the bytes of its slabs.

        The server, which takes what is left of it out of the list of processes, is waited for until then: it
        may be importing something.
        """
        self.kill()
        with self._lock:
            if self._ended >= 0:
                readable(self._ended, REAPED)
                readable(self._status, max(0.0, (until or monotonic() + SWEPT) - monotonic()))
        freed = 0
        for slab in (self.given, self.made):
            if slab is not None:
                freed += slab.size
                slab.close()
        self.given = self.made = None
        self._close_descriptors()
        return freed

    def forget(self) -> None:
        """In a forked child: the worker is not its own."""
        self._lock = threading.Lock()
        for out in self.out:
            out.make_private()
        for slab in (self.given, self.made, *self.spare, *self.out):
            if slab is not None:
                slab.close()
        self._close_descriptors()

    def _close_descriptors(self) -> None:
        with self._lock:
            for descriptor in (self._ended, self._status):
                if descriptor >= 0:
                    os.close(descriptor)
            self._ended = self._status = -1
            self._link.close()
