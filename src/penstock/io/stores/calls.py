"""Calls to a store that runs in an event loop, made from any thread and ended from any other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.errors import StoreError

if TYPE_CHECKING:
    import asyncio
    import concurrent.futures

T = TypeVar("T")


class Calls:
    """The calls of one open file. Ended once, every one that waits ends, and no other begins."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._waiting: set[concurrent.futures.Future[Any]] = set()
        self._owner: Callable[[], None] | None = None

    def ended_by(self, owner: Callable[[], None]) -> None:
        """Say that `owner` is to be called at the end, to forget these calls: somebody may end them too."""
        self._owner = owner

    def run(self, loop: asyncio.AbstractEventLoop, call: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What the coroutine gives, run in `loop`, which is another thread's."""
        from asyncio import run_coroutine_threadsafe
        from concurrent.futures import CancelledError

        with self._lock:
            self.check()
            future = run_coroutine_threadsafe(call(), loop)
            self._waiting.add(future)
        try:
            return future.result()
        except CancelledError:
            pass
        finally:
            future.cancel()  # where the waiting ended otherwise: by the user's Ctrl-C
            with self._lock:
                self._waiting.discard(future)
            del future  # its error keeps this frame alive, and with it the buffer that was to be filled
        self.check()
        raise TimeoutError("the call was given up")

    def check(self) -> None:
        """`StoreError` if the calls are ended."""
        if self._ended.is_set():
            raise StoreError(f"{self._path}: the file was closed while it was read.", file=self._path)

    def pause(self, seconds: float) -> bool:
        """Wait; whether the calls were ended meanwhile."""
        return self._ended.wait(seconds)

    def end(self) -> None:
        """End all calls, those that wait first. Does not wait itself."""
        self._ended.set()
        with self._lock:
            waiting = list(self._waiting)
        for future in waiting:
            future.cancel()

    def close(self) -> None:
        """End all calls, and let the owner know that there is nothing to end any more."""
        self.end()
        owner, self._owner = self._owner, None
        if owner is not None:
            owner()
