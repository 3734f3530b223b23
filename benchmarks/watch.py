"""The parent's side: start one child, talk to it line by line, and sample its memory meanwhile.

The child writes one JSON object a line (`conversation.py`) and waits for a reply to each question.
`Watch.events()` yields them; between two of them it reads the memory of the child and of its
descendants every few milliseconds. Pages that a descendant shares are counted once, in the child.
"""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks import procfs

INTERVAL = 0.005
FAMILY_INTERVAL = 0.05
FAMILY_SHARE = 0.01
"""Of the time, at most so much is spent on looking at descendants: the kernel walks through all their pages,
which would hold up most who has the largest ones."""
LONGEST = 300.0


class Watch:
    """One child process, and the most memory it was seen to hold since `forget()`."""

    def __init__(self, arguments: Sequence[str], longest: float = LONGEST) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in close()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.child", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"},
            cwd=Path(__file__).parent.parent,
            start_new_session=True,
        )
        self._end = time.monotonic() + longest
        self._family = 0
        self._family_due = 0.0
        self.peak = 0
        self.timed_out = False

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._errors.close()

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield what the child says until it ends, sampling its memory while it is silent."""
        assert self._process.stdout is not None
        stream = self._process.stdout.fileno()
        heard = b""
        with selectors.DefaultSelector() as selector:
            selector.register(stream, selectors.EVENT_READ)
            while True:
                if time.monotonic() > self._end:
                    self.timed_out = True
                    return
                if selector.select(INTERVAL):
                    chunk = os.read(stream, 65536)
                    if not chunk:
                        return
                    *lines, heard = (heard + chunk).split(b"\n")
                    yield from map(json.loads, lines)
                self.peak = max(self.peak, self._sample())

    def reply(self) -> None:
        """Let a waiting child go on; one that has died meanwhile is found out by `events()`."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(b"go\n")
            self._process.stdin.flush()

    def memory(self) -> int:
        """Bytes held now: the child's RSS and what its descendants hold for themselves."""
        began = time.monotonic()
        self._family = sum(map(procfs.private, procfs.descendants(self.pid)))
        ended = time.monotonic()
        self._family_due = ended + max(FAMILY_INTERVAL, (ended - began) / FAMILY_SHARE)
        return procfs.rss(self.pid) + self._family

    def _sample(self) -> int:
        """The same; if it is too soon, with what the descendants held when they were last looked at."""
        due = time.monotonic() > self._family_due
        return self.memory() if due else procfs.rss(self.pid) + self._family

    def forget(self) -> int:
        """Start the peak again from the present, and say what that is."""
        procfs.forget_highest_rss(self.pid)
        self.peak = self.memory()
        return self.peak

    def highest(self) -> int:
        """The peak since `forget()`: sampled, or the kernel's own where that is more."""
        return max(self.peak, self.memory(), procfs.highest_rss(self.pid))

    def close(self) -> int:
        """End the child if it still runs, and return its exit status (negative: a signal)."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        try:
            self._process.wait(timeout=0 if self.timed_out else 10)
        except subprocess.TimeoutExpired:
            os.killpg(self.pid, signal.SIGKILL)
            self._process.wait()
        return self._process.returncode

    def complaint(self) -> str:
        """The last line of the child's standard error that says something."""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1].strip() if lines else ""
