"""What the kernel's files say of memory, in all the places where they may be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import penstock as ps
from penstock.memory.budget import resolve_budget, usable_memory

GIB = 1 << 30


def machine(root: Path, cgroup: str | None, limits: dict[str, str], *, meminfo: bool = True) -> Path:
    (root / "proc/self").mkdir(parents=True)
    if meminfo:
        (root / "proc/meminfo").write_text("MemFree: 1 kB\nMemTotal: 8388608 kB\n")
    if cgroup is not None:
        (root / "proc/self/cgroup").write_text(cgroup)
    for name, text in limits.items():
        path = root / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return root


@pytest.mark.parametrize(
    ("cgroup", "limits", "usable"),
    [
        ("0::/job\n", {"unified/job/memory.max": str(GIB)}, GIB),
        ("4:cpu,memory:/job\n", {"memory/job/memory.limit_in_bytes": str(GIB)}, GIB),
        ("4:cpu,memory:/job\n", {"cpu,memory/job/memory.limit_in_bytes": str(GIB)}, GIB),
        ("0::/../job\n", {"job/memory.max": str(GIB)}, GIB),
        ("0::/job\n", {"job/memory.max": "0"}, 8 * GIB),
        ("4:memory:/\n", {"memory/memory.limit_in_bytes": str(1 << 60)}, 8 * GIB),
        (None, {"memory.max": str(GIB)}, 8 * GIB),
    ],
    ids=["unified", "with cpu", "mounted with cpu", "above the mount", "zero", "huge", "no groups"],
)
def test_given_a_place_then_what_it_says_counts(
    cgroup: str | None, limits: dict[str, str], usable: int, tmp_path: Path
) -> None:
    assert usable_memory(machine(tmp_path, cgroup, limits)) == usable


def test_given_no_file_of_the_kernel_then_the_c_library_is_asked(tmp_path: Path) -> None:
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert usable_memory(machine(tmp_path, None, {}, meminfo=False)) == whole


def test_given_a_variable_of_blanks_then_it_says_nothing() -> None:
    assert resolve_budget(None, ps.Options(), {"PENSTOCK_MEMORY": "  "}).total == usable_memory() // 4
