"""The rooms import one way, and importing Penstock is quick and brings no framework along."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "penstock"
WITHIN_A_TIER = {("options", "errors")}
"""Rooms of one tier know nothing of each other, with these exceptions."""
FOREIGN = (
    "adbc_driver_manager",
    "array_record",
    "cloudpickle",
    "cv2",
    "fsspec",
    "grain",
    "jax",
    "keras",
    "llvmlite",
    "numba",
    "pandas",
    "pyarrow",
    "ray",
    "scipy",
    "simplejpeg",
    "sklearn",
    "tensorflow",
    "torch",
    "zstandard",
)


def tiers(document: str) -> list[list[str]]:
    """The tiers of rooms that `docs/architecture.md` draws, the lowest first."""
    drawing = re.search(r"## The rooms\n.*?```\n(.*?)```", document, re.DOTALL)
    assert drawing is not None, "docs/architecture.md draws the import direction under 'The rooms'"
    return [[room.strip() for room in tier.split(",")] for tier in drawing[1].split("<-")]


def ranks() -> dict[str, int]:
    """The tier of each room; `__init__`, which only gathers the public names, is above all."""
    drawn = tiers((ROOT / "docs" / "architecture.md").read_text())
    known = {room: rank for rank, tier in enumerate(drawn) for room in tier}
    return {**known, "__init__": len(drawn)}


def room_of(module: str) -> str:
    """The room of a module: `penstock.ops.batch` is in `ops`, `penstock` itself is `__init__`."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = ["penstock", *path.relative_to(PACKAGE).with_suffix("").parts]
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def imported(source: str, module: str, is_package: bool) -> Iterator[tuple[int, str]]:
    """Every module of Penstock that a source imports, with its line.

    Imports inside functions and under TYPE_CHECKING count like any other.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = module.split(".")
                parts = parts[: len(parts) - node.level + is_package]
                base = ".".join([*parts, base] if base else parts)
            # `from penstock import errors` names a room, `from penstock.errors import X` a thing.
            names = [f"{base}.{alias.name}" for alias in node.names] if base == "penstock" else [base]
        else:
            continue
        yield from ((node.lineno, name) for name in names if name.split(".")[0] == "penstock")


def test_given_every_module_then_its_room_is_drawn_in_the_architecture() -> None:
    rooms = {room_of(name) for name, _ in modules()}
    assert rooms - ranks().keys() == set()


@pytest.mark.parametrize("module", [name for name, _ in modules()])
def test_given_a_module_then_it_imports_only_from_rooms_below(module: str) -> None:
    path = dict(modules())[module]
    rank, room = ranks(), room_of(module)
    wrong = []
    for line, target in imported(path.read_text(), module, path.name == "__init__.py"):
        other = room_of(target)
        if other == room or (room, other) in WITHIN_A_TIER:
            continue
        if rank[other] >= rank[room]:
            wrong.append(f"{path.relative_to(ROOT)}:{line}: {room} imports {target}")
    assert not wrong


def test_given_deferred_and_relative_imports_then_the_walk_sees_them() -> None:
    source = (
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from penstock.engine.run import Run\n"
        "def f():\n    import penstock.dataset\n"
        "    from ..ops import batch\n    from . import plan\n"
        "from penstock import errors\n"
    )
    found = [name for _, name in imported(source, "penstock.graph.passes", is_package=False)]
    assert sorted(found) == [
        "penstock.dataset",
        "penstock.engine.run",
        "penstock.errors",
        "penstock.graph",
        "penstock.ops",
    ]


def measure(code: str, **variables: str) -> object:
    """What a fresh interpreter prints, read as JSON."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env=os.environ | variables,
    )
    return json.loads(done.stdout)


def test_when_penstock_is_imported_then_no_framework_and_no_numba_is_loaded() -> None:
    loaded = measure("import json, sys, penstock; print(json.dumps(list(sys.modules)))")
    assert isinstance(loaded, list)
    assert {name.split(".")[0] for name in loaded} & set(FOREIGN) == set()


@pytest.mark.alone
def test_when_penstock_is_imported_then_it_takes_under_half_a_second_more_than_numpy(tmp_path: Path) -> None:
    compiled = {
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": str(tmp_path),
    }  # as pip leaves a package
    code = (
        "import json, time, numpy\n"
        "began = time.process_time()\n"
        "import penstock\n"
        "print(json.dumps(time.process_time() - began))"
    )
    seconds: list[float] = []
    while not seconds or (min(seconds) >= 0.5 and len(seconds) < 25):  # a busy machine has slow moments
        seconds.append(float(str(measure(code, **compiled))))
    assert min(seconds) < 0.5, seconds
