"""How many bytes a run may hold: from the caller, the environment, or what the process may use."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from penstock.options import Options, parse_bytes

VARIABLE = "PENSTOCK_MEMORY"
SHARE = 4
"""By default a run may hold one part in four of what the process may use."""


def resolve_budget(
    memory: int | str | None,
    options: Options,
    environment: Mapping[str, str] = os.environ,
    call: str = "iterate(memory=)",
) -> int:
    """The budget of a run: of `iterate(memory=)`, `Options`, the variable, the share, the first said."""
    if memory is not None:
        return parse_bytes(memory, call)
    if options.memory is not None:
        return parse_bytes(options.memory, "Options(memory=)")
    said = environment.get(VARIABLE, "").strip()
    if said:
        return parse_bytes(said, f"the environment variable {VARIABLE}")
    return usable_memory() // SHARE


def usable_memory(root: Path = Path("/")) -> int:
    """The bytes that this process may use: the tightest control group, or the machine."""
    return min([*_cgroup_limits(root), _machine_memory(root)])


def _machine_memory(root: Path) -> int:
    try:
        for line in (root / "proc/meminfo").read_text().splitlines():
            if line.startswith("MemTotal:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _cgroup_limits(root: Path) -> Iterator[int]:
    """The limits of this process's control groups and of all groups above them, v1 and v2."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            mounts = ["sys/fs/cgroup", "sys/fs/cgroup/unified"]
            name = "memory.max"
        elif "memory" in controllers.split(","):
            mounts = ["sys/fs/cgroup/memory"]
            name = "memory.limit_in_bytes"
        else:
            continue
        for mount in mounts:
            yield from _limits_upwards(root / mount, path, name)


def _limits_upwards(mount: Path, path: str, name: str) -> Iterator[int]:
    # Inside a container the path may be the host's: then only the mount itself is there to read.
    parts = [part for part in path.split("/") if part and part != ".."]
    for depth in range(len(parts), -1, -1):
        try:
            said = mount.joinpath(*parts[:depth], name).read_text().strip()
        except OSError:
            continue
        if said.isdigit() and 0 < int(said) < 1 << 60:  # v1 writes a huge number for "no limit"
            yield int(said)
