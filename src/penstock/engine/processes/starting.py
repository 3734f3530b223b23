"""Getting a worker: forked by the server, with the functions loaded and its slabs in place."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Container

from penstock.engine.processes.link import Link
from penstock.engine.processes.lost import TRIES, WorkerLost, resident
from penstock.engine.processes.server_link import Server, Stop, Threaded
from penstock.engine.processes.serving import serving
from penstock.engine.processes.surroundings import surroundings
from penstock.engine.processes.travel import Packing
from penstock.engine.processes.wire import THREADED, Hangup
from penstock.errors import PenstockError
from penstock.functions.row_function import RowFunction
from penstock.kernels import loading

_MODULES = 20
"""At most so many modules are found, one after another, to go by value."""
LOADED = ("penstock.blocks", "penstock.functions", "penstock.image", "penstock.io", "penstock.kernels")
"""What calls over whole blocks need of Penstock, and what it stands on."""


class Functions:
    """A user's functions, ready to be loaded by any number of workers."""

    def __init__(
        self,
        function: RowFunction,
        where: str,
        reserve: Callable[[int], None],
        born: Callable[[Link], None],
        meanwhile: Callable[[Link], None],
        dead: Callable[[Link], None],
    ) -> None:
        """Who is to end a worker is told as soon as it is there (`born`), and when it is of no use (`dead`).

        While it loads the functions, something else is done for it (`meanwhile`).
        """
        self._born, self._meanwhile, self._dead = born, meanwhile, dead
        self._functions = function.functions
        self._over_block = not function.why
        self._where = where
        self._reserve = reserve
        self.by_value: set[str] = set()
        """Modules that workers cannot import: what they define goes by value."""
        self._lock = threading.Lock()
        self.nbytes = 0
        self._descriptor = -1
        self._around = surroundings()
        self._pack()
        self.near = serving.has(self._modules)
        """Whether the server is there, and has loaded what they need: a worker takes no time from now on."""

    def _pack(self, why: str = "") -> None:
        """Have them ready to be sent; by value, if there is a reason `why`."""
        self.close()
        try:
            packing = Packing(self._functions, self.by_value)
        except PenstockError:
            raise
        except Exception as error:
            raise PenstockError(
                f"{self._where}: the function cannot be brought into a worker process: "
                f"{type(error).__name__}: {error}.{why} Make such things inside the function, or use "
                f"executor='threads'."
            ) from error
        self._reserve(packing.parcel.nbytes - self.nbytes)
        self.nbytes = packing.parcel.nbytes
        self._descriptor = packing.write()
        self._parcel = packing.parcel
        self._importable = packing.importable
        self._modules = [name for name in packing.modules() if name.split(".")[0] not in THREADED]
        if self._over_block:  # what has been loaded for the first blocks
            self._modules += [name for name in sys.modules if name.startswith(LOADED)]

    def start(self, stop: Stop, begun: Link | None = None) -> Link:
        """A worker that has loaded them: the one that was `begun`, if that becomes one."""
        why, turn = "", 0
        while turn < TRIES:
            if stop():
                raise Hangup("the run was closed")
            server = serving.server()
            try:
                if begun is None:
                    (begun,) = self.begin(stop, server=server)
                return self._loaded(begun)
            except WorkerLost as lost:
                if stop():
                    raise Hangup("the run was closed") from None
                why = str(lost)
            except Threaded:  # each time there is one package less that can do it
                continue
            except Hangup as gone:
                if stop():
                    raise
                why = f"their server: {gone}"
                serving.lost(server)
            except OSError as error:  # the server may start no process more, say
                why = str(error)
            turn, begun = turn + 1, None
        raise PenstockError(f"{self._where}: no worker process could be started: {why}.")

    def begin(self, stop: Stop, count: int = 1, server: Server | None = None) -> list[Link]:
        """So many workers that are told to load them."""
        server = server or serving.server()
        server.load(self._modules, stop)
        links = [Link(forked) for forked in server.fork(stop, count)]
        self.near = True
        for link in links:
            self._born(link)
        try:
            for link in links:
                self._tell(link)
            for link in links:
                self._meanwhile(link)
                link.look()
        except BaseException:
            for link in links:
                self._dead(link)
            raise
        return links

    def _tell(self, link: Link) -> None:
        with self._lock:  # several threads start workers at the same time
            link.by_value = frozenset(self.by_value)
            how = (self._over_block, self._over_block and loading.ready())
            link.send(("start", self._parcel, self._around, *how), (self._descriptor,))

    def _loaded(self, link: Link) -> Link:
        """The same, once it has loaded them."""
        try:
            for _ in range(_MODULES):
                answer = link.receive()
                if answer[0] == "ready":
                    link.memory = resident(link.pid)
                    return link
                with self._lock:
                    self._by_value_too(link.by_value, *answer[1:])
                self._tell(link)
            raise PenstockError(f"{self._where}: too many modules cannot be imported in a worker process.")
        except BaseException:
            self._dead(link)
            raise

    def goes_by_value(self, module: str | None, known: Container[str]) -> bool:
        """Have what a module defines go by value, as workers cannot import it; `known` are those that do."""
        if module is None or module in known or module not in sys.modules:
            return False
        with self._lock:
            if module not in self.by_value:
                self.by_value.add(module)
                try:
                    self._pack()
                except PenstockError:  # the functions have to do with what cannot go there
                    self.by_value.discard(module)
                    self._pack()
                    return False
        return True

    def _by_value_too(self, known: frozenset[str], module: str | None, said: str) -> None:
        """Have what that module defines go by value: workers cannot import it. `known` are those that do."""
        if module is None or module in known or module not in sys.modules:
            raise PenstockError(
                f"{self._where}: the function could not be loaded in a worker process: {said}. "
                f"Use executor='threads', or define it where it can be imported."
            )
        if module not in self.by_value:
            self.by_value.add(module)
            if module in self._importable:  # what is by value finds the others as they are here, too
                self.by_value |= self._importable
            self._pack(f" It goes there with all that it refers to, as it could not be imported ({said}).")

    def close(self) -> None:
        """Give the shared memory back."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
