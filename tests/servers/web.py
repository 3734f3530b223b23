"""A real web server on this machine that gives ranges, and fails as it is told."""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[["Handler", bytes, int, int], None]
"""Answers a request for the bytes from one number up to another of a file."""


class WebServer(ThreadingHTTPServer):
    """Gives `files` by ranges; each of `faults` is taken in place of the answer to one request."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.faults: deque[Answer | None] = deque()
        self.always: Answer | None = None
        self.asked: list[tuple[int, int]] = []
        self.tag = '"1"'
        self.hanging = threading.Semaphore(0)
        """Released once by every request that hangs."""
        self.released = threading.Event()
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def address(self, name: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/{name}"

    def put(self, name: str, data: bytes) -> str:
        self.files[name] = data
        return self.address(name)

    def stop(self) -> None:
        self.released.set()
        self.shutdown()
        self._thread.join()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is what these tests are about."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: WebServer

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        data = self.server.files.get(self.path.lstrip("/"))
        if data is None:
            return status(404)(self, b"", 0, 0)
        said = re.match(r"bytes=(\d+)-(\d+)$", self.headers.get("Range", ""))
        start, end = (int(said[1]), int(said[2]) + 1) if said else (0, len(data))
        self.server.asked.append((start, end))
        fault = self.server.faults.popleft() if self.server.faults else self.server.always
        return (fault or give)(self, data, start, min(end, len(data)))

    def head(self, code: int, size: int, **headers: str) -> None:
        self.send_response(code)
        self.send_header("Content-Length", str(size))
        self.send_header("ETag", self.server.tag)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def head_of(self, data: bytes, start: int, end: int, size: int | None = None) -> None:
        said = f"bytes {start}-{end - 1}/{len(data)}"
        self.head(206, end - start if size is None else size, Content_Range=said)


def give(handler: Handler, data: bytes, start: int, end: int) -> None:
    if start >= len(data):
        return handler.head(416, 0, Content_Range=f"bytes */{len(data)}")
    handler.head_of(data, start, end)
    handler.wfile.write(data[start:end])
    return None


def give_whole(handler: Handler, data: bytes, start: int, end: int) -> None:
    handler.head(200, len(data))
    handler.wfile.write(data)


def status(code: int, **headers: str) -> Answer:
    def answer(handler: Handler, data: bytes, start: int, end: int) -> None:
        handler.head(code, 0, **headers)

    return answer


def cut_after(size: int) -> Answer:
    """The connection is lost after so many bytes of the body."""

    def answer(handler: Handler, data: bytes, start: int, end: int) -> None:
        handler.head_of(data, start, end)
        handler.wfile.write(data[start : min(start + size, end)])
        handler.close_connection = True

    return answer


def cut_at_once(handler: Handler, data: bytes, start: int, end: int) -> None:
    handler.close_connection = True


def say_fewer(size: int) -> Answer:
    """An answer whose Content-Length is that of so many bytes, though a whole range was announced."""

    def answer(handler: Handler, data: bytes, start: int, end: int) -> None:
        size_now = min(size, end - start)
        handler.head_of(data, start, end, size_now)
        handler.wfile.write(data[start : start + size_now])

    return answer


def say_more(handler: Handler, data: bytes, start: int, end: int) -> None:
    """More bytes than the range has: those after it follow."""
    handler.head_of(data, start, end, end - start + 10)
    handler.wfile.write(data[start:end] + b"0123456789")


def trickle(handler: Handler, data: bytes, start: int, end: int) -> None:
    """A byte at a time at first, each in a packet of its own."""
    handler.head_of(data, start, end)
    for at in range(start, min(start + 50, end)):
        handler.wfile.write(data[at : at + 1])
        handler.wfile.flush()
    handler.wfile.write(data[start + 50 : end])


def wrong_range(handler: Handler, data: bytes, start: int, end: int) -> None:
    handler.head_of(data, start + 1, end)
    handler.wfile.write(data[start + 1 : end])


def hang_after(size: int) -> Answer:
    """After so many bytes nothing comes any more (-1: not even an answer), until the server stops."""

    def answer(handler: Handler, data: bytes, start: int, end: int) -> None:
        if size >= 0:
            handler.head_of(data, start, end)
            handler.wfile.write(data[start : min(start + size, end)])
        handler.server.hanging.release()
        handler.server.released.wait()
        handler.close_connection = True

    return answer
