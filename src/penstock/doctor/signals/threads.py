"""Threads that are started and never end."""

from __future__ import annotations

import os
import threading

from penstock.doctor.signals import Look, Signal


def python_threads(_: Look) -> float:
    """Threads that Python knows."""
    return float(threading.active_count())


def all_threads(_: Look) -> float:
    """All threads of the process, of native libraries too."""
    return float(sum(1 for _ in os.scandir("/proc/self/task")))


def kept(thing: object, where: str) -> str | None:
    """A thread that is kept by user code counts where it is alive."""
    del where
    return "threads" if isinstance(thing, threading.Thread) and thing.is_alive() else None


SIGNALS = [
    Signal("process.python_threads", "threads", "threads", 6, python_threads, quick=True),
    Signal("process.threads", "threads", "threads", 6, all_threads, quick=True),
]
