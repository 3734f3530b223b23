"""How many cores this process may use: what its affinity and its container grant."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from penstock.memory.cgroup import files_upwards


def usable_cores(root: Path = Path("/")) -> int:
    """The cores that this process may keep busy; at least one."""
    granted = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([granted, *(max(1, round(quota)) for quota in _quotas(root))]))


def _quotas(root: Path) -> Iterator[float]:
    """The quotas of this process's control groups and of all groups above them, in cores."""
    for said in files_upwards(root, "cpu.max"):
        parts = said.split()
        if len(parts) == 2 and all(part.isdigit() for part in parts):
            yield int(parts[0]) / int(parts[1])
    quotas = files_upwards(root, "cpu.cfs_quota_us", controller="cpu")
    periods = files_upwards(root, "cpu.cfs_period_us", controller="cpu")
    for quota, period in zip(quotas, periods, strict=False):
        if quota.isdigit() and period.isdigit() and int(period):  # v1 says -1 for "no limit"
            yield int(quota) / int(period)
