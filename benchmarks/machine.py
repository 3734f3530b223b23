"""The machine and the versions, in words fit to publish: no names of hosts, no paths."""

import os
import platform
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("numpy", "tensorflow-cpu", "torch", "grain")


def describe() -> list[str]:
    """One line a fact."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    kernel = ".".join(platform.release().split("-")[0].split(".")[:2])
    return [
        f"{len(os.sched_getaffinity(0))} cores ({_processor()}), {memory:.0f} GiB of memory",
        f"Linux {kernel}, Python {platform.python_version()}",
        ", ".join(f"{package} {_version(package)}" for package in PACKAGES),
    ]


class Bystanders:
    """How much of the machine others used while we measured: figures of a busy machine are rough."""

    MANY = 0.2

    def __init__(self) -> None:
        self._began = (time.monotonic(), _busy_seconds(), _own_seconds())

    def describe(self) -> list[str]:
        """One line that says so, where it was enough to matter."""
        began, busy, own = self._began
        others = (_busy_seconds() - busy) - (_own_seconds() - own)
        cores = max(others, 0.0) / (time.monotonic() - began)
        if cores < self.MANY:
            return []
        return [f"**busy: other programs used {cores:.1f} cores meanwhile, so times are rough**"]


def _busy_seconds() -> float:
    """Processor time that the machine has spent on anything, since it started."""
    user, nice, system, _idle, _waiting, *rest = map(
        int, Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    )
    return (user + nice + system + sum(rest[:3])) / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
