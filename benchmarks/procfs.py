"""What Linux says about a process and its descendants, read from `/proc`."""

import os
from pathlib import Path

PAGE = os.sysconf("SC_PAGE_SIZE")


def rss(pid: int) -> int:
    """Bytes of `pid` that are in memory now; 0 once it is gone."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
    except (OSError, IndexError):
        return 0


def private(pid: int) -> int:
    """Bytes in memory that no other process shares; 0 once `pid` is gone."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Private_"))


def status(pid: int, field: str) -> int:
    """A number of `/proc/PID/status` (sizes there are in KiB); 0 once it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(field + ":")), 0)


def highest_rss(pid: int) -> int:
    """The kernel's own high-water mark, which no sampling can miss."""
    return status(pid, "VmHWM") * 1024


def forget_highest_rss(pid: int) -> None:
    """Start the kernel's high-water mark again from the present."""
    try:
        Path(f"/proc/{pid}/clear_refs").write_text("5")
    except OSError:
        return


def descendants(pid: int) -> list[int]:
    """Every living child of `pid`, and theirs."""
    found: list[int] = []
    for task in _tasks(pid):
        try:
            children = Path(f"/proc/{pid}/task/{task}/children").read_text().split()
        except OSError:
            continue
        for child in map(int, children):
            found += [child, *descendants(child)]
    return found


def threads(pid: int) -> int:
    """How many threads `pid` has."""
    return status(pid, "Threads")


def descriptors(pid: int) -> int:
    """How many files, pipes and sockets `pid` has open."""
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208 - names only, no Path each
    except OSError:
        return 0


def _tasks(pid: int) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - names only, no Path each
    except OSError:
        return []
