"""Worker processes: one that is forked watches itself, and says which line makes it grow."""

from __future__ import annotations

import os
import pickle
import secrets
import shutil
import sys
import tempfile
from contextlib import suppress
from multiprocessing import util
from pathlib import Path
from time import perf_counter
from types import FrameType
from typing import Any

from penstock.doctor.diagnose import diagnose
from penstock.doctor.findings import Diagnosis, Finding
from penstock.doctor.watching import Watching

KIND = "child-memory"
PAUSE, SHARE = 0.2, 50.0
"""A worker says what it has found after so many seconds, or so many times of what saying it took."""


class Workers:
    """The workers of a script that is watched: what they have said lies in a folder, until `end`."""

    def __init__(self, watching: Watching) -> None:
        self.watching = watching
        self.folder = Path(tempfile.gettempdir()) / f"penstock-doctor-{secrets.token_hex(16)}"
        """Made by the first worker that has something to say."""
        util.register_after_fork(self, Workers._in_child)

    def _in_child(self) -> None:
        """A worker begins: nothing of the parent's watch goes on in it, and one of its own begins."""
        self.watching.leave()
        watching = Watching(script=self.watching.script, floor=_first_frame())
        self.watching = watching  # what this worker forks leaves this one
        report = Report(watching, self.folder)
        watching.on_sample = report.now_and_then
        util.Finalize(None, report.last, exitpriority=1000)
        watching.start()

    def end(self, said: Diagnosis) -> None:
        """Where the memory of workers grows, take the line from what they say."""
        heard = self._heard()
        for one in said.findings:
            if one.kind == KIND and heard:
                best = max(heard, key=lambda found: (-found.tier, found.bytes_each or 0.0))
                one.place, one.made, one.bound = best.place, best.made, best.bound
                one.chain = ("a worker process", *best.chain)
                one.what = f"in a worker process, {best.what}"
        shutil.rmtree(self.folder, ignore_errors=True)

    def _heard(self) -> list[Finding]:
        found: list[Finding] = []
        for path in sorted(self.folder.glob("*.said")):
            with suppress(Exception):  # a worker was ended while it spoke
                found += pickle.loads(path.read_bytes())
        return found


def _first_frame() -> FrameType:
    """Where a worker begins; below are the frames of the parent."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_name != "_bootstrap":
        frame = frame.f_back
    return frame


class Report:
    """What a worker has found, in a file."""

    def __init__(self, watching: Watching, folder: Path) -> None:
        self.watching = watching
        self.path = folder / f"{os.getpid()}.said"
        self._parent = os.getppid()
        self._next = perf_counter() + PAUSE

    def now_and_then(self) -> None:
        """A sample was taken: workers are often ended without a word."""
        began = perf_counter()
        if began >= self._next:
            self._say()
            ended = perf_counter()
            self._next = ended + max(PAUSE, SHARE * (ended - began))

    def last(self) -> None:
        """The worker ends by itself."""
        self.watching.stop()
        self._say()

    def _say(self) -> None:
        found: list[Any] = [one for one in diagnose(self.watching).findings if one.place is not None]
        if found and os.getppid() == self._parent:
            new = self.path.with_suffix(".new")
            with suppress(OSError):
                self.path.parent.mkdir(mode=0o700, exist_ok=True)
                new.write_bytes(pickle.dumps(found))
                new.rename(self.path)
