"""The server process, seen from this one: started, told what to import, asked for workers, ended."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from time import monotonic
from typing import Any

from penstock.engine.processes.surroundings import surroundings
from penstock.engine.processes.wire import THREADS, Hangup, readable, receive, send, waits_for_ever

LEAVING = 1.0
"""Seconds that it has to end by itself; it may be importing something."""
TURN = 0.05
"""Seconds after which a wait for the server looks whether it is to end."""
PATIENCE = 60.0
"""Seconds that the server has to start, or to load what it is told to."""
SPIN, CYCLES = "OPENBLAS_THREAD_TIMEOUT", "16"
"""The threads that NumPy's linear algebra starts when it is loaded wait busily for some 100 ms, on cores that
the user's process would use: with this variable they go to sleep after 2**16 cycles."""
_START = """
import sys
sys.path[:] = {path!r}  # before it, the folder is searched
import os
from importlib.util import find_spec, module_from_spec
from types import ModuleType

class Later(ModuleType):
    def __getattr__(self, name):
        self.__class__ = ModuleType
        self.__spec__.loader.exec_module(self)
        return getattr(self, name)

package = module_from_spec(find_spec("penstock"))
package.__class__ = Later
sys.modules["penstock"] = package
from penstock.engine.processes.server import main
if {spins}:
    del os.environ["{spin}"]
main({control}, {parent})
"""
"""What the server runs. Of Penstock it loads what calls need, a third of the whole: the rest follows when
somebody asks for it."""

Stop = Callable[[], bool]
apart: set[str] = set()
"""Packages that start threads when they are imported: each worker imports them itself, as a process with
threads is not to be forked."""


class Threaded(Hangup):
    """The server has threads now: another one is to take its place."""


class Forked:
    """A new worker, as the server handed it over."""

    def __init__(self, pid: int, ended: int, link: socket.socket, status: int) -> None:
        self.pid = pid
        self.ended = ended
        """The descriptor that stands for the process (`pidfd`)."""
        self.link = link
        self.status = status
        """Where the server tells how the worker has ended."""


class Server:
    """The server process."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self._control = waits_for_ever(ours)
        self._lock = threading.Lock()  # one request at a time
        self._requests = self._answered = 0
        self._modules: set[str] = set()
        """What it has been told to import."""
        self._like = _identity()
        self.is_threaded = False
        """Whether it is not to be forked any more; workers that it has are as they should be."""
        self._load = 1
        """The number of the request that told it of the last of them."""
        spins = SPIN not in os.environ  # then functions are not to find it there either
        control = theirs.fileno()
        code = _START.format(
            path=surroundings()["path"], spins=spins, spin=SPIN, control=control, parent=os.getpid()
        )
        try:
            self._process = subprocess.Popen(
                # In one line: a traceback of a function of a user's own `python -c` would quote others.
                [sys.executable, *_flags(), "-c", f"exec(compile({code!r}, '<penstock>', 'exec'))"],
                pass_fds=(control,),
                env={SPIN: CYCLES, **os.environ},
                stdin=subprocess.DEVNULL,
                process_group=0,  # Ctrl-C is for this process alone: it ends the others
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()

    @property
    def was_asked(self) -> bool:
        """Whether somebody has asked it for anything; else it may still be starting, for nobody."""
        return self._requests > 0

    @property
    def is_to_be_forked(self) -> bool:
        """Whether new workers may come of it: it has no threads, and this process is what it was then."""
        return not self.is_threaded and self._like == _identity()

    def has(self, modules: Iterable[str]) -> bool:
        """Whether it is there, with these modules."""
        if self._answered < self._load or not self.is_to_be_forked or not self.alive:
            return False
        return all(name in self._modules or _is_apart(name) for name in modules)

    def load(self, modules: Iterable[str], stop: Stop) -> None:
        """Have these modules imported, so that workers find them there."""
        new = [name for name in modules if name not in self._modules and not _is_apart(name)]
        if new or not self._requests:  # the first answer also tells that it is there
            self._modules.update(new)
            threaded, _ = self._ask(("load", surroundings(), *new), (), stop)
            if threaded:
                apart.update(name.partition(".")[0] for name in threaded)
                self.is_threaded = True
                raise Threaded(f"importing {threaded[0]} started threads there")

    def fork(self, stop: Stop, count: int = 1) -> list[Forked]:
        """So many new workers, at once: each question costs a way there and back."""
        reads: list[int] = []
        writes: list[int] = []
        try:
            for _ in range(count):
                read, write = os.pipe2(os.O_CLOEXEC)
                reads.append(read)
                writes.append(write)
            pids, received = self._ask(("fork",), tuple(writes), stop)
            if len(received) < 2 * count:  # the others found no place here
                for descriptor in received:
                    os.close(descriptor)
                why = -pids[0] if pids[0] < 0 else errno.EMFILE
                if why == THREADS:
                    raise Threaded("it has threads")
                raise OSError(why, os.strerror(why))
        except BaseException:
            for read in reads:
                os.close(read)
            raise
        finally:
            for write in writes:
                os.close(write)
        links = [waits_for_ever(socket.socket(fileno=link)) for link in received[1::2]]
        return list(map(Forked, pids, received[::2], links, reads))

    def have_ready(self, workers: int) -> None:
        """Have so many workers forked in advance, for whoever comes next; nobody waits for it."""
        if self._lock.acquire(blocking=False):
            try:
                with contextlib.suppress(Hangup):  # it is gone: who comes next finds out
                    send(self._control, (0, "spares", workers))
            finally:
                self._lock.release()

    def _ask(self, request: tuple[Any, ...], descriptors: tuple[int, ...], stop: Stop) -> tuple[Any, Any]:
        until = monotonic() + PATIENCE
        while not self._lock.acquire(timeout=TURN):
            _check(stop, until)
        try:
            self._requests += 1
            if request[0] == "load":
                self._load = self._requests
            send(self._control, (self._requests, *request), descriptors)
            while True:
                while not readable(self._control.fileno(), TURN):
                    _check(stop, until)
                (number, *answer), received = receive(self._control)
                self._answered = number
                if number == self._requests:
                    return answer, received
                for descriptor in received:  # of a worker that nobody waited for: it ends by itself
                    os.close(descriptor)
        finally:
            self._lock.release()

    def end(self) -> None:
        """End it now, and its workers with it; who waits for it gets `Hangup`."""
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)  # it takes its workers along, and leaves nobody behind
        if not self.was_asked:  # it has no workers, and may be importing what it needs
            self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(LEAVING)
        with contextlib.suppress(OSError):
            self._process.kill()
        self._process.wait()
        if self._lock.acquire(timeout=LEAVING):  # not under the eyes of who still looks at it
            self._control.close()
            self._lock.release()

    @property
    def alive(self) -> bool:
        """Whether it is still there."""
        return self._process.poll() is None

    def forget(self) -> None:
        """In a forked child: the server is not its own."""
        self._process.returncode = 0
        self._control.close()


def _identity() -> tuple[Any, ...]:
    """Who the process is, and how many descriptors it may have."""
    return os.geteuid(), os.getegid(), resource.getrlimit(resource.RLIMIT_NOFILE)


def _is_apart(module: str) -> bool:
    return module.partition(".")[0] in apart


def _flags() -> list[str]:
    """Those of this interpreter: functions are compiled there as here, with or without assertions, say."""
    found: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return found


def _check(stop: Stop, until: float) -> None:
    if stop():
        raise Hangup("the wait for the server was ended")
    if monotonic() > until:
        raise Hangup(f"the server of worker processes did not answer within {PATIENCE:g} s")
