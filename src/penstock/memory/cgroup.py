"""The control groups of this process, v1 and v2: what a container grants."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_MOST = 1 << 16
"""Bytes: the files of the kernel that are read here are shorter."""


def contents(path: str) -> str | None:
    """What a file of the kernel says; None if it cannot be read.

    Every run reads some twenty of them, and `Path.read_text` takes several times as long.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.read(descriptor, _MOST).decode().strip()
    except OSError:
        return None
    finally:
        os.close(descriptor)


def files_upwards(root: Path, name: str, *, controller: str = "") -> Iterator[str]:
    """What the files of that name say, in this process's group and in all groups above it.

    Without a `controller`, the groups of version 2; with one, its groups of version 1.
    """
    for line in (contents(f"{root}/proc/self/cgroup") or "").splitlines():
        _, controllers, path = line.split(":", 2)
        if not controller and controllers == "":
            mounts = ["sys/fs/cgroup", "sys/fs/cgroup/unified"]
        elif controller and controller in controllers.split(","):
            mounts = [f"sys/fs/cgroup/{controller}", f"sys/fs/cgroup/{controllers}"]
        else:
            continue
        for mount in dict.fromkeys(mounts):
            yield from _upwards(f"{root}/{mount}", path, name)


def _upwards(mount: str, path: str, name: str) -> Iterator[str]:
    # Inside a container the path may be the host's: then only the mount itself is there to read.
    parts = [part for part in path.split("/") if part and part != ".."]
    for depth in range(len(parts), -1, -1):
        text = contents("/".join([mount, *parts[:depth], name]))
        if text is not None:
            yield text
