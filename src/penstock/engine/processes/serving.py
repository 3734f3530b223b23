"""The one server of this process: started when calls are to go to workers, gone when none do any more."""

from __future__ import annotations

import atexit
import errno
import os
import sys
import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from penstock.engine.processes.lingering import Lingering
from penstock.engine.processes.server_link import Server
from penstock.errors import PenstockError

LINGER = 3.0
"""Seconds that the server stays when no run needs it any more: the next epoch may."""
SPARES = 2
"""Workers that it has ready meanwhile, and from when the last rows are being made. They know no function, and
share its pages."""


def check_platform() -> None:
    """Raise an error where there can be no worker processes."""
    if not sys.executable or getattr(sys, "frozen", False):  # a frozen program would start itself again
        raise PenstockError(
            "Worker processes need a Python that can be started (sys.executable), which a frozen or an "
            "embedding program is not. Use executor='threads'."
        )
    try:
        os.close(os.memfd_create("penstock-try", os.MFD_CLOEXEC))
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError) as error:
        if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM):
            raise
        raise PenstockError(
            f"Worker processes need Linux 5.3 or later, and a container that lets programs use memfd_create "
            f"and pidfd_open ({error}). Use executor='threads'."
        ) from None


class Serving:
    """The one server of this process, for as long as somebody uses it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server: Server | None = None
        self._threaded: list[Server] = []
        """Those that are there for the workers that they have."""
        self._users = 0
        self._lingering = Lingering(self._end_unused)
        self.links: weakref.WeakSet[Any] = weakref.WeakSet()
        """All that has descriptors to forget in a forked child."""

    def use(self) -> None:
        """Say that a run is going to ask for the server."""
        with self._lock:
            self._users += 1
            self._lingering.stop()

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Start the server, if there is none, while something else is done; it stays as long as that takes.

        Who needs it for longer says so meanwhile (`use`).
        """
        self.use()
        try:
            self.server()
            yield
        finally:
            self.leave()

    def nearly_over(self) -> None:
        """Say that one that needs the server will need no more workers: those of the next epoch get ready.

        Not while others need it as well, who want the core themselves.
        """
        with self._lock:
            if self._users == 1 and LINGER and self._server is not None and self._server.was_asked:
                self._server.have_ready(SPARES)

    def leave(self) -> None:
        """Say that a run does not need it any more."""
        with self._lock:
            self._users -= 1
            if self._users:
                return
            if self._server is not None and not self._server.was_asked:
                self._server.end()  # nobody has needed it after all
                self._server = None
            if not (self._server or self._threaded):
                return
            if LINGER and self._lingering.begin(LINGER):
                if self._server is not None:
                    self._server.have_ready(SPARES)
                return
        self._end_unused()

    def server(self) -> Server:
        """The server, started where there is none."""
        with self._lock:
            if self._server is not None and not self._server.is_to_be_forked:
                self._threaded.append(self._server)
                self._server = None
            if self._server is not None and not self._server.alive:
                self._server.end()
                self._server = None
            if self._server is None:
                check_platform()
                self._server = Server()
            return self._server

    def has(self, modules: Iterable[str]) -> bool:
        """Whether a server is there already, with these modules."""
        with self._lock:
            return self._server is not None and self._server.has(modules)

    def lost(self, server: Server) -> None:
        """Say that this server does not answer: who asks next gets another one."""
        with self._lock:
            if self._server is server:
                self._server = None
        server.end()

    def _end_unused(self) -> None:
        with self._lock:
            if self._users:
                return
            servers = self._all()
        for server in servers:
            server.end()

    def _all(self) -> list[Server]:
        servers = [*self._threaded, *([] if self._server is None else [self._server])]
        self._threaded, self._server = [], None
        return servers

    def at_exit(self) -> None:
        """The process ends."""
        with self._lock:
            servers = self._all()
        for server in servers:
            with suppress(KeyboardInterrupt):  # another Ctrl-C: it ends by itself, as nobody is at its socket
                server.end()

    def in_forked_child(self) -> None:
        """Touch nothing of the parent's: its server and workers serve it alone."""
        servers, links = self._all(), list(self.links)
        self.__init__()  # type: ignore[misc]  # a lock that some thread of the parent held is held for ever
        for server in servers:
            server.forget()
        for link in links:
            link.forget()


serving = Serving()
atexit.register(serving.at_exit)
os.register_at_fork(after_in_child=serving.in_forked_child)
