"""Ranges of files on web servers, straight into the reader's buffer."""

from __future__ import annotations

import re
from typing import Any

from penstock.errors import StoreError
from penstock.io.stores.calls import Calls
from penstock.io.stores.ranges import Look, Ranges, no_ranges
from penstock.io.stores.retry import Patience, ShortRead

RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)$")
EMPTY = re.compile(r"bytes \*/0$")


class HttpRanges(Ranges):
    """A file on a web server.

    fsspec's own range read takes whatever a server answers, also the whole file. So the answer is read
    here, in the session of fsspec's filesystem, and so with the user's settings of it.
    """

    beside = 256 << 10

    def __init__(self, fs: Any, name: str, path: str, calls: Calls, patience: Patience) -> None:
        import aiohttp

        self._fs, self._name, self._path = fs, name, path
        self._calls = calls
        self._broken = (aiohttp.ClientError, TimeoutError)
        self._timeout = aiohttp.ClientTimeout(None, sock_connect=patience.stall, sock_read=patience.stall)
        self._size = -1
        self._tag = ""

    def look(self) -> Look:
        return self._calls.run(self._fs.loop, self._look)

    async def _look(self) -> Look:
        # Not HEAD: only this says whether the server gives ranges at all.
        async with await self._get(0, 1) as reply:
            none = reply.status == 200 and reply.content_length == 0
            if none or EMPTY.match(reply.headers.get("Content-Range", "")):
                self._size = 0
            else:
                self._size = self._check(reply, 0, 1)
            self._tag = _strong(reply)
            stamps = [reply.headers.get(name, "") for name in ("ETag", "Last-Modified")]
        return Look(self._size, "-".join([str(self._size), *filter(None, stamps)]))

    def fill(self, start: int, out: memoryview) -> int:
        return self._calls.run(self._fs.loop, lambda: self._fill(start, out))

    async def _fill(self, start: int, out: memoryview) -> int:
        done = 0
        broken: BaseException | None = None
        async with await self._get(start, len(out)) as reply:
            total = self._check(reply, start, len(out))
            if total != self._size or (self._tag and _strong(reply) not in ("", self._tag)):
                raise StoreError(
                    f"{self._path} at byte {start}: expected the file of {self._size} bytes that was opened, "
                    f"but it has changed since: it has {total} bytes now. Read it from its beginning again.",
                    file=self._path,
                    offset=start,
                )
            try:
                while done < len(out):
                    part = await reply.content.readany()
                    if not part:
                        break
                    count = min(len(part), len(out) - done)
                    out[done : done + count] = part[:count]
                    done += count
            except self._broken as error:
                # aiohttp keeps this error with the answer: its traceback would keep `out` for long.
                broken = error.with_traceback(None)
        # What has come stays, and the rest is asked for again.
        if done:
            return done
        if broken is None:
            raise ShortRead("none came")
        kind = TimeoutError if isinstance(broken, TimeoutError) else ConnectionError
        raise kind(f"{type(broken).__name__}: {broken}")

    async def _get(self, start: int, size: int) -> Any:
        """The answer to a request for a range, which is the caller's to close."""
        session = await self._fs.set_session()
        settings = {"timeout": self._timeout, **self._fs.kwargs}
        settings["headers"] = {
            **settings.get("headers", {}),
            "Range": f"bytes={start}-{start + size - 1}",
            "Accept-Encoding": "identity",
        }
        reply = await session.get(self._fs.encode_url(self._name), **settings)
        if reply.status >= 400 and not (reply.status == 416 and start == 0):
            try:
                reply.raise_for_status()
            finally:
                reply.close()
        return reply

    def _check(self, reply: Any, start: int, size: int) -> int:
        """The size of the whole file, where the answer is the range that was asked for, or its front."""
        said = reply.headers.get("Content-Range", "")
        if reply.status == 200:
            raise no_ranges(self._path, start, "it answered 200 to a request for a range")
        found = RANGE.match(said)
        if reply.status != 206 or found is None:
            came = f"status {reply.status} with the range {said!r}"
            raise no_ranges(self._path, start, f"it answered with {came}")
        first, last, total = map(int, found.groups())
        if first != start or last >= start + size:
            raise no_ranges(self._path, start, f"it answered with the range {said!r}")
        return total


def _strong(reply: Any) -> str:
    """The tag of exactly these bytes, if there is one."""
    tag: str = reply.headers.get("ETag", "")
    return "" if tag.startswith("W/") else tag
