"""What a run has left behind: processes and descriptors."""

from __future__ import annotations

import os
import time
from pathlib import Path


def children(pid: int | None = None) -> set[int]:
    """The processes that a process has started, and those that they have; zombies too."""
    found: set[int] = set()
    above = {pid or os.getpid()}
    parents = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parents[int(folder.name)] = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
    while above:
        above = {child for child, parent in parents.items() if parent in above} - found
        found |= above
    return found


def alive(pid: int) -> bool:
    """Whether a process is there and not only waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def gone(pids: set[int], within: float = 5.0) -> bool:
    """Whether all of these processes end within some seconds."""
    until = time.monotonic() + within
    while any(map(alive, pids)):
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def descriptors() -> set[tuple[str, str, int]]:
    """What this process has open: compare with `<=`, as what was left by others may end at any time."""
    found = set()
    for link in Path("/proc/self/fd").iterdir():
        try:
            found.add((link.name, str(link.readlink()), link.stat().st_ino))
        except OSError:  # that of the listing itself, which is over
            continue
    return found
