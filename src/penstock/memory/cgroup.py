"""The control groups of this process, v1 and v2: what a container grants."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def files_upwards(root: Path, name: str, *, controller: str = "") -> Iterator[str]:
    """What the files of that name say, in this process's group and in all groups above it.

    Without a `controller`, the groups of version 2; with one, its groups of version 1.
    """
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controller and controllers == "":
            mounts = ["sys/fs/cgroup", "sys/fs/cgroup/unified"]
        elif controller and controller in controllers.split(","):
            mounts = [f"sys/fs/cgroup/{controller}", f"sys/fs/cgroup/{controllers}"]
        else:
            continue
        for mount in dict.fromkeys(mounts):
            yield from _upwards(root / mount, path, name)


def _upwards(mount: Path, path: str, name: str) -> Iterator[str]:
    # Inside a container the path may be the host's: then only the mount itself is there to read.
    parts = [part for part in path.split("/") if part and part != ".."]
    for depth in range(len(parts), -1, -1):
        try:
            yield mount.joinpath(*parts[:depth], name).read_text().strip()
        except OSError:
            continue
