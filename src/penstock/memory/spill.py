"""Scratch files: where a run puts what the budget does not hold."""

from __future__ import annotations

import bisect
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.errors import ClosedError, PenstockError
from penstock.memory.sizes import show_bytes

COPIED = 64 << 10
"""Bytes copied at a time from one place of a file to another."""


class Scratch:
    """One file without a name: it is gone with its descriptor, whatever happens to the process.

    Closing it waits for nobody: who is just reading or writing finishes, and the last one closes the file.
    A descriptor that is closed belongs to the next file that anybody opens.
    """

    def __init__(self, folder: str | None = None) -> None:
        self.folder = folder or scratch_folder()
        self._file = tempfile.TemporaryFile(dir=self.folder, prefix="penstock-", buffering=0)  # noqa: SIM115
        self._users = 0
        self._closed = False
        self.end = 0
        self._free: list[tuple[int, int]] = []  # offset and size, by offset, no two adjacent
        self._lock = threading.Lock()

    def allocate(self, size: int) -> int:
        """Set `size` bytes aside; the offset where they begin."""
        with self._lock:
            self._check()
            for i, (start, room) in enumerate(self._free):
                if room >= size:
                    rest = [(start + size, room - size)] if room > size else []
                    self._free[i : i + 1] = rest
                    return start
            start, self.end = self.end, self.end + size
            return start

    def free(self, offset: int, size: int) -> None:
        """Give back bytes that were set aside, for the next who needs some."""
        with self._lock:
            if size <= 0 or self._closed:
                return
            at = bisect.bisect(self._free, (offset, 0))
            if at < len(self._free) and self._free[at][0] == offset + size:
                size += self._free.pop(at)[1]
            if at and sum(self._free[at - 1]) == offset:
                at -= 1
                offset, before = self._free.pop(at)
                size += before
            if offset + size == self.end:
                self.end = offset
                os.ftruncate(self._file.fileno(), offset)
            else:
                self._free.insert(at, (offset, size))

    def write(self, offset: int, array: NDArray[Any]) -> None:
        """Write an array's bytes at `offset`."""
        view = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        done = 0
        with self._descriptor() as fd:
            while done < len(view):
                try:
                    done += os.pwrite(fd, view[done:], offset + done)
                except OSError as error:
                    raise PenstockError(
                        f"Writing {show_bytes(len(view))} of spilled data to {self.folder} failed: "
                        f"{error.strerror}. Make room there, or name another folder with "
                        f"ps.Options(scratch=...)."
                    ) from error

    def read(self, offset: int, out: NDArray[Any]) -> None:
        """Fill a contiguous array with the bytes at `offset`."""
        view = out.reshape(-1).view(np.uint8).data
        done = 0
        with self._descriptor() as fd:
            while done < len(view):
                got = os.preadv(fd, [view[done:]], offset + done)
                if got == 0:
                    raise PenstockError(f"The scratch file in {self.folder} was cut short.")
                done += got

    def copy(self, source: int, offset: int, size: int) -> None:
        """Copy bytes from one place to another, a piece at a time."""
        piece = np.empty(min(size, COPIED), np.uint8)
        for done in range(0, size, COPIED):
            part = piece[: size - done]
            self.read(source + done, part)
            self.write(offset + done, part)

    def close(self) -> None:
        """Close the file, which removes it; who uses it from now on gets a `ClosedError`."""
        with self._lock:
            self._closed = True
            if not self._users:
                self._file.close()

    @contextmanager
    def _descriptor(self) -> Iterator[int]:
        """The file's descriptor, open for as long as the `with` statement goes on."""
        with self._lock:
            self._check()
            self._users += 1
        try:
            yield self._file.fileno()
        finally:
            with self._lock:
                self._users -= 1
                if self._closed and not self._users:
                    self._file.close()

    def _check(self) -> None:
        if self._closed:
            raise ClosedError("The run whose scratch file this is was closed.")


def scratch_folder(mounts: Path = Path("/proc/mounts")) -> str:
    """A folder for scratch files that is on a disk rather than in memory, if there is one."""
    chosen = tempfile.gettempdir()
    in_memory = _memory_mounts(mounts)
    for folder in (chosen, "/var/tmp", str(Path.cwd())):
        if os.access(folder, os.W_OK) and _mount_of(folder, in_memory) is None:
            return folder
    return chosen


def _memory_mounts(mounts: Path) -> list[str]:
    try:
        lines = [line.split() for line in mounts.read_text().splitlines()]
    except OSError:
        return []
    return [line[1] for line in lines if len(line) > 2 and line[2] in ("tmpfs", "ramfs")]


def _mount_of(folder: str, mounts: list[str]) -> str | None:
    path = Path(folder).resolve()
    inside = [mount for mount in mounts if path.is_relative_to(mount)]
    return max(inside, key=len, default=None)
