"""The machine and the versions, in words fit to publish: no names of hosts, no paths."""

import os
import platform
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
