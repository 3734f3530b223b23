"""Which loop a line is in."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType

import pytest

from penstock.doctor.places import Places

SOURCE = """
def work(look, i):
    look()
    return i

def comprehension(look):
    return [work(look, i) for i in range(2)]

def generator(look):
    return sum(
        work(look, step)
        for step in range(2)
    )

def nested(look):
    for epoch in range(2):
        for step in range(2):
            work(look, step)

def one_name(look):
    for _ in range(2):
        for epoch, _ in enumerate(range(2)):
            work(look, 1)

def plain(look):
    work(look, 1)
"""


@pytest.mark.parametrize(
    ("name", "variables"),
    [
        ("comprehension", [("i",)]),
        ("generator", [("step",)]),
        ("nested", [("epoch",), ("step",)]),
        ("one_name", [(), ("epoch", "_")]),
        ("plain", []),
    ],
)
def test_given_a_function_at_work_then_the_loops_it_is_in_are_known(
    name: str, variables: list[tuple[str, ...]], tmp_path: Path
) -> None:
    file = tmp_path / "train.py"
    file.write_text(SOURCE)
    scope: dict[str, object] = {}
    exec(compile(SOURCE, str(file), "exec"), scope)
    places, seen = Places(str(file)), []

    def look() -> None:
        frame: FrameType = sys._getframe()
        seen.append([loop for one in places.stack(frame) for loop in places.loops(one)])

    scope[name](look)  # type: ignore[operator]
    assert all([loop.variables for loop in loops if loop.file == str(file)] == variables for loops in seen)
    assert seen
