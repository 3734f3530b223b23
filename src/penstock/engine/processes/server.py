"""What the server process does: it has imported what workers need, and forks one when asked.

It has one thread and no state but its workers, so that forking it is safe, whatever the user's process does.
Told to, it forks some in advance, when it has nothing else to do.
It ends when the process that started it closes the socket or dies, and takes all workers along.
"""

from __future__ import annotations

import _thread
import contextlib
import ctypes
import errno
import gc
import importlib
import os
import select
import signal
import socket
import sys
from collections.abc import Sequence
from typing import Any

from penstock.engine.processes import worker
from penstock.engine.processes.rehearsal import rehearse
from penstock.engine.processes.surroundings import surround
from penstock.engine.processes.wire import STATUS, THREADED, THREADS, Hangup, receive, send, waits_for_ever

_SET_PDEATHSIG = 1


class Server:
    """Forks workers, and tells how each has ended."""

    def __init__(self, control: socket.socket, parent: int) -> None:
        self._control = control
        self._parent = os.pidfd_open(parent)
        self._workers: dict[int, tuple[int, int]] = {}
        """By the descriptor that tells of its end: a worker's process id, and where to say how it ended."""
        self._spares: list[tuple[int, int, socket.socket]] = []
        """Workers that nobody has yet: process id, the descriptor that tells of its end, its socket."""
        self._wanted = 0
        self._has_threads = False
        """Whether it is not to fork any more: what its threads hold would be held in workers for ever."""
        self._prctl = ctypes.CDLL(None).prctl  # found once, and not by each worker
        self._poll = select.poll()
        for descriptor in (control.fileno(), self._parent):
            self._poll.register(descriptor, select.POLLIN)

    def serve(self) -> None:
        """Until the other side is gone."""
        while True:
            short = len(self._spares) < self._wanted
            ready = self._poll.poll(0 if short else None)
            if short and not ready:
                try:
                    self._spares.append(self._fork())
                except OSError:  # who needs a worker is told
                    self._wanted = 0
            for descriptor, _ in ready:
                if descriptor == self._parent:
                    return
                if descriptor == self._control.fileno():
                    try:
                        self._answer()
                    except Hangup:
                        return
                elif descriptor in self._workers:
                    self._reap(descriptor)

    def _answer(self) -> None:
        (number, request, *names), descriptors = receive(self._control)
        if request == "load":
            self._load(number, *names)
            return
        if request == "spares":
            (self._wanted,) = (0,) if self._has_threads else names
            return
        self._wanted = 0  # whoever works is not to be disturbed
        try:
            if self._has_threads:  # one that asked meanwhile
                raise OSError(THREADS, "")
            while len(self._spares) < len(descriptors):
                self._spares.append(self._fork(descriptors))
        except OSError as error:  # no process more may be started, say
            for status in descriptors:
                os.close(status)
            send(self._control, (number, -(error.errno or errno.EAGAIN)))
            return
        given = [self._spares.pop() for _ in descriptors]
        for (pid, ended, _), status in zip(given, descriptors, strict=True):
            self._workers[ended] = (pid, status)
            self._poll.register(ended, select.POLLIN)
        handed = [each for _, ended, link in given for each in (ended, link.fileno())]
        send(self._control, (number, *(pid for pid, _, _ in given)), tuple(handed))
        for _, _, link in given:
            link.close()

    def _load(self, number: int, around: dict[str, Any], *names: str) -> None:
        """Import modules, as the user's process would now; tells which of them started threads."""
        if names:
            self._end_spares()  # they would each import it by themselves
            surround(around)
        threaded = []
        for name in names:
            before = _thread._count(), len(THREADED & sys.modules.keys())
            with contextlib.suppress(BaseException):  # the worker that needs it says what is wrong
                module = importlib.import_module(name)
                getattr(module, "__all__", None)  # Penstock itself is loaded when it is looked at
            if (_thread._count(), len(THREADED & sys.modules.keys())) > before:
                threaded.append(name)
                self._has_threads = True
        gc.collect()
        gc.freeze()  # what is there now stays there: workers share its pages
        send(self._control, (number, *threaded))

    def _fork(self, statuses: Sequence[int] = ()) -> tuple[int, int, socket.socket]:
        """A worker; in advance, if there are no `statuses` of those that are waited for."""
        ours, theirs = map(waits_for_ever, socket.socketpair())
        pid = -1
        gc.disable()
        try:
            pid = os.fork()
            if pid == 0:
                for status in statuses:
                    os.close(status)
                self._become_worker(ours, theirs, waited_for=bool(statuses))
        finally:
            gc.enable()
            theirs.close()
            if pid < 0:
                ours.close()
        try:
            return pid, os.pidfd_open(pid), ours
        except OSError:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            ours.close()
            raise

    def _become_worker(self, ours: socket.socket, theirs: socket.socket, *, waited_for: bool) -> None:
        code = 1
        try:
            server = os.getppid()
            self._prctl(_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != server:
                os._exit(1)
            self._control.close()
            ours.close()
            os.close(self._parent)
            for ended, (_, status) in self._workers.items():
                os.close(ended)
                os.close(status)
            for _, ended, link in self._spares:
                os.close(ended)
                link.close()
            gc.enable()
            if not waited_for:
                with contextlib.suppress(Exception):  # no descriptors are left, say: calls will tell
                    rehearse(theirs)
            worker.work(theirs)
            code = 0
        finally:
            os._exit(code)

    def _reap(self, ended: int) -> None:
        pid, status = self._workers.pop(ended)
        self._poll.unregister(ended)
        os.close(ended)
        _, how = os.waitpid(pid, 0)
        with contextlib.suppress(OSError):
            os.write(status, STATUS.pack(how))
        os.close(status)

    def _end_spares(self) -> None:
        for pid, ended, link in self._spares:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(ended)
            link.close()
        self._spares.clear()

    def end(self) -> None:
        """Take the workers along."""
        self._end_spares()
        for pid, _ in self._workers.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid, _ in self._workers.values():
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
        self._control.close()


def main(control: int, parent: int) -> None:
    """Serve the process `parent`, which has the other end of the socket."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # the user's process may not want to know how its own end
    try:
        server = Server(socket.socket(fileno=control), parent)
    except ProcessLookupError:  # it is gone already
        return
    try:
        server.serve()
    finally:
        server.end()
