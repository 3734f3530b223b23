"""How many bytes a run may hold: from the caller, the environment, or what the process may use.

What nobody has said a number for is one budget for all runs of the process.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from weakref import WeakValueDictionary

from penstock.memory.cgroup import contents, files_upwards
from penstock.memory.shared import Budget
from penstock.options import Options, SharedMemory, parse_memory

VARIABLE = "PENSTOCK_MEMORY"
SHARE = 4
"""By default all runs together may hold one part in four of what the process may use."""
Memory = int | str | Budget
"""What a user may say: bytes for one run, or a budget that it shares."""

_defaults: WeakValueDictionary[int, Budget] = WeakValueDictionary()
"""The budgets that are shared because nobody said anything, by their size, while a run has them."""


def resolve_budget(
    memory: Memory | None,
    options: Options,
    environment: Mapping[str, str] = os.environ,
    call: str = "iterate(memory=)",
) -> Budget:
    """The budget of a run: of `iterate(memory=)`, `Options`, the variable, the share, the first said."""
    for given, where in ((memory, call), (options.memory, "Options(memory=)")):
        if isinstance(given, Budget):
            return given
        if given is not None:
            assert not isinstance(given, SharedMemory)
            return Budget.of(parse_memory(given, where))
    text = environment.get(VARIABLE, "").strip()
    if text:
        return _shared(parse_memory(text, f"the environment variable {VARIABLE}"))
    return _shared(usable_memory() // SHARE)


def _shared(total: int) -> Budget:
    """The one of that size that all runs share which were not given one."""
    return _defaults.setdefault(total, Budget.of(total))


def usable_memory(root: Path = Path("/")) -> int:
    """The bytes that this process may use: the tightest control group, or the machine."""
    return min([*_cgroup_limits(root), _machine_memory(root)])


def _machine_memory(root: Path) -> int:
    for line in (contents(f"{root}/proc/meminfo") or "").splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _cgroup_limits(root: Path) -> Iterator[int]:
    """The limits of this process's control groups and of all groups above them, v1 and v2."""
    for text in files_upwards(root, "memory.max"):
        yield from _limit(text)
    for text in files_upwards(root, "memory.limit_in_bytes", controller="memory"):
        yield from _limit(text)


def _limit(text: str) -> Iterator[int]:
    if text.isdigit() and 0 < int(text) < 1 << 60:  # v1 writes a huge number for "no limit"
        yield int(text)
