"""How many bytes a run may hold: from the caller, the environment, or what the process may use."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from penstock.memory.cgroup import files_upwards
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
    for said in files_upwards(root, "memory.max"):
        yield from _limit(said)
    for said in files_upwards(root, "memory.limit_in_bytes", controller="memory"):
        yield from _limit(said)


def _limit(said: str) -> Iterator[int]:
    if said.isdigit() and 0 < int(said) < 1 << 60:  # v1 writes a huge number for "no limit"
        yield int(said)
