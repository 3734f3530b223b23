"""Files as memory."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import numpy as np
import pytest

from engine.leftovers import descriptors
from penstock.memory.mapped import PAGE, map_file


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(np.arange(3 * PAGE, dtype=np.uint16).tobytes())
    return path


@pytest.mark.parametrize(
    "start, stop", [(0, 1), (0, 6 * PAGE), (7, 9), (PAGE - 1, PAGE + 1), (5 * PAGE + 3, 6 * PAGE)]
)
def test_given_a_range_then_its_bytes_are_there_and_no_descriptor_is_kept(
    start: int, stop: int, file: Path
) -> None:
    before = descriptors()
    handle = os.open(file, os.O_RDONLY)
    mapped = map_file(handle, start, stop)
    os.close(handle)
    assert descriptors() <= before
    assert mapped.tobytes() == file.read_bytes()[start:stop]
    with pytest.raises(ValueError, match="read-only"):
        mapped[0] = 1


def test_when_the_last_view_is_dropped_then_the_mapping_goes(file: Path) -> None:
    handle = os.open(file, os.O_RDONLY)
    view = map_file(handle, 100, 5000)[7:].view(np.int8)[::3]
    os.close(handle)
    assert str(file) in Path("/proc/self/maps").read_text()
    first = int(view[0])
    del view
    gc.collect()
    assert str(file) not in Path("/proc/self/maps").read_text()
    assert first == np.frombuffer(file.read_bytes(), np.int8)[107]


def test_given_no_bytes_then_nothing_is_mapped(file: Path) -> None:
    handle = os.open(file, os.O_RDONLY)
    assert len(map_file(handle, 5, 5)) == 0
    os.close(handle)


def test_given_a_file_that_is_closed_then_the_system_says_so() -> None:
    with pytest.raises(OSError, match="Bad file descriptor"):
        map_file(-1, 0, 10)
