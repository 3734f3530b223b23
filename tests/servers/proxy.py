"""A proxy on this machine that passes on what a store answers, and fails as it is told."""

from __future__ import annotations

import re
import socket
import socketserver
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

Fault = Callable[["Connection", bytes, bytes], bool]
"""Answers in place of the store, given its head and its body; whether the connection stays."""


class Proxy(socketserver.ThreadingTCPServer):
    """Stands before a store; each of `faults` is taken in place of one answer to a read."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", 0), Connection)
        self.store = ("127.0.0.1", port)
        self.faults: deque[Fault | None] = deque()
        self.always: Fault | None = None
        self.listing_faults: deque[Fault | None] = deque()
        """Taken in place of the answers to requests for a list."""
        self.asked: list[str] = []
        """The ranges that were asked for."""
        self.hanging = threading.Semaphore(0)
        self.released = threading.Event()
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def stop(self) -> None:
        self.released.set()
        self.shutdown()
        self._thread.join()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is what these tests are about."""


class Connection(socketserver.StreamRequestHandler):
    server: Proxy

    def handle(self) -> None:
        while (request := head(self.rfile)) and self._answer(request):
            pass

    def _answer(self, request: bytes) -> bool:
        with socket.create_connection(self.server.store) as store, store.makefile("rb") as answer:
            store.sendall(request)
            start = head(answer)
            has_body = not request.startswith(b"HEAD")
            body = answer.read(length(start)) if has_body else b""
        said = re.search(rb"(?im)^range: bytes=(\S+)\r$", request)
        fault = None
        if said is not None:
            self.server.asked.append(said[1].decode())
            fault = self.server.faults.popleft() if self.server.faults else self.server.always
        elif b"list-type=2" in request.split(b"\r")[0] and self.server.listing_faults:
            fault = self.server.listing_faults.popleft()
        return (fault or give)(self, start, body)


def head(stream: Any) -> bytes:
    """A request or an answer up to the empty line."""
    lines = []
    while (line := stream.readline()) not in (b"", b"\r\n"):
        lines.append(line)
    return b"".join([*lines, b"\r\n"]) if lines else b""


def length(head: bytes) -> int:
    found = re.search(rb"(?im)^content-length: (\d+)\r$", head)
    return int(found[1]) if found else 0


def give(connection: Connection, head: bytes, body: bytes) -> bool:
    connection.wfile.write(head + body)
    return b"connection: close" not in head.lower()


def cut_after(size: int) -> Fault:
    """The connection is lost after so many bytes of the body; before the answer, if that is -1."""

    def fault(connection: Connection, head: bytes, body: bytes) -> bool:
        if size >= 0:
            connection.wfile.write(head + body[:size])
        return False

    return fault


def hang_after(size: int) -> Fault:
    """After so many bytes of the body nothing comes any more, until the proxy stops."""

    def fault(connection: Connection, head: bytes, body: bytes) -> bool:
        if size >= 0:
            connection.wfile.write(head + body[:size])
        connection.server.hanging.release()
        connection.server.released.wait()
        return False

    return fault


def refuse(code: int, name: str, more: str = "") -> Fault:
    """An error as S3 puts it."""

    def fault(connection: Connection, head: bytes, body: bytes) -> bool:
        text = f"<?xml version='1.0'?><Error><Code>{name}</Code><Message>It is so.</Message></Error>".encode()
        start = f"HTTP/1.1 {code} {name}\r\n{more}Content-Length: {len(text)}\r\n\r\n"
        connection.wfile.write(start.encode() + text)
        return True

    return fault


def fewer(size: int) -> Fault:
    """An answer that is complete as such, but of fewer bytes than were asked for."""

    def fault(connection: Connection, head: bytes, body: bytes) -> bool:
        changed = re.sub(rb"(?im)^content-length: \d+", b"Content-Length: %d" % len(body[:size]), head)
        connection.wfile.write(changed + body[:size])
        return True

    return fault
