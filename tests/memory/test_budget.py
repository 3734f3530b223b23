"""How many bytes a run may hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.memory.budget import resolve_budget, usable_memory
from penstock.options import parse_bytes

GIB = 1 << 30


def machine(root: Path, cgroup: str, limits: dict[str, str], total_kib: int = 8 << 20) -> Path:
    """A made-up root folder with what the kernel tells of memory."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/meminfo").write_text(f"MemTotal:       {total_kib} kB\nMemFree: 1 kB\n")
    (root / "proc/self/cgroup").write_text(cgroup)
    for name, text in limits.items():
        path = root / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return root


def test_given_no_limit_then_the_machine_decides(tmp_path: Path) -> None:
    root = machine(tmp_path, "0::/job\n", {"job/memory.max": "max"})
    assert usable_memory(root) == 8 * GIB


def test_given_a_v2_limit_of_the_group_or_one_above_it_then_the_tightest_decides(
    tmp_path: Path,
) -> None:
    limits = {"a/memory.max": str(GIB), "a/b/memory.max": str(2 * GIB), "memory.max": "max"}
    assert usable_memory(machine(tmp_path, "0::/a/b\n", limits)) == GIB


def test_given_a_v1_limit_then_it_decides_and_its_huge_number_means_none(tmp_path: Path) -> None:
    lines = "5:devices:/x\n4:memory:/docker/abc\n0::/\n"
    limits = {
        "memory/docker/abc/memory.limit_in_bytes": str(3 * GIB),
        "memory/memory.limit_in_bytes": "9223372036854771712",
    }
    assert usable_memory(machine(tmp_path, lines, limits)) == 3 * GIB


def test_given_a_container_that_sees_the_hosts_path_then_the_mount_itself_is_read(
    tmp_path: Path,
) -> None:
    lines = "4:memory:/kubepods/pod1/container2\n"
    limits = {"memory/memory.limit_in_bytes": str(GIB)}
    assert usable_memory(machine(tmp_path, lines, limits)) == GIB


def test_the_last_word_wins() -> None:
    options = ps.Options(memory="32MiB")
    environment = {"PENSTOCK_MEMORY": "64MiB"}
    assert resolve_budget("16MiB", options, environment).total == 16 << 20
    assert resolve_budget(None, options, environment).total == 32 << 20
    assert resolve_budget(None, ps.Options(), environment).total == 64 << 20
    assert resolve_budget(None, ps.Options(), {}).total == usable_memory() // 4


def test_given_the_variable_then_a_run_has_that_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_MEMORY", "24MiB")
    with ps.Dataset.range(3).iterate() as it:
        assert it.report().budget == 24 << 20


@pytest.mark.parametrize(
    ("text", "size"),
    [("1", 1), ("64MiB", 64 << 20), ("1.5 GB", 1_500_000_000), ("2kib", 2048), (4096, 4096)],
)
def test_sizes_are_read(text: int | str, size: int) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize("text", ["", "MiB", "-1MiB", "12 parsecs", "0", 0, -5, "1e400 GB", 1.5, None])
def test_given_nonsense_then_the_error_says_what_is_expected(text: object) -> None:
    with pytest.raises((ps.errors.ArgumentError, ps.errors.ArgumentTypeError), match=r"64MiB|one byte"):
        parse_bytes(text)  # type: ignore[arg-type]


def test_given_a_wrong_variable_then_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_MEMORY", "lots")
    with pytest.raises(ps.errors.ArgumentError, match="PENSTOCK_MEMORY"):
        ps.Dataset.range(3).iterate()


def large() -> Iterator[Any]:
    for i in range(4):
        yield np.full((128, 128, 3), i, np.float32)


@pytest.mark.parametrize(
    ("ds", "memory", "op"),
    [
        (ps.Dataset.from_generator(large), "100KiB", "from_generator"),
        (ps.Dataset.range(1000).batch(1000), 5000, "batch"),
        (ps.Dataset.range(1000).map(lambda x: np.zeros(1000) + x), 5000, "map"),
        (
            ps.Dataset.range(9).map(lambda x: np.ones(500) + x).filter(np.any).map(lambda x: x + 1),
            5000,
            "map",
        ),
    ],
)
def test_given_an_element_that_does_not_fit_then_the_op_and_its_line_are_named(
    ds: ps.Dataset, memory: Any, op: str
) -> None:
    with (
        ds.iterate(memory=memory) as it,
        pytest.raises(ps.errors.BudgetError, match=rf"^{op}\S* at .*test_budget\.py:\d+ needs"),
    ):
        list(it)


def test_given_the_users_own_large_arrays_then_they_need_not_fit() -> None:
    ds = ps.Dataset.from_tensor_slices(np.zeros((10, 100_000))).batch(5)
    with ds.iterate(memory="100KiB") as it:
        assert sum(len(batch) for batch in it) == 10
        assert it.report().peak == 0


@pytest.mark.parametrize("call", ["iterate", "explain"])
def test_given_a_wrong_budget_then_the_error_has_the_users_line(call: str) -> None:
    with pytest.raises(ps.errors.ArgumentError, match=rf"{call}\(memory=\) at .*test_budget\.py:\d+"):
        getattr(ps.Dataset.range(3), call)(memory="much")


def test_given_no_folder_for_scratch_then_options_refuse(tmp_path: Path) -> None:
    with pytest.raises(ps.errors.ArgumentError, match=r"Options\(scratch=\) at .*: expected a folder"):
        ps.Options(scratch=str(tmp_path / "none"))
    with pytest.raises(ps.errors.ArgumentTypeError, match=r"Options\(scratch=\)"):
        ps.Options(scratch=3)  # type: ignore[arg-type]
    ps.Options(scratch=str(tmp_path))
