"""Where in which file an element came from that a function has failed on."""

from __future__ import annotations

from penstock.blocks.block import Block
from penstock.errors import ElementError
from penstock.graph.op import Op

FORGETS = frozenset({"cache", "shuffle"})
"""Ops that keep rows, but not where they were."""


def located(error: ElementError, block: Block, row: int, op: Op) -> None:
    """Say in the error of that row of the op's input where the row came from, if a file was read."""
    if error.file:
        return
    place = block.place(row)
    if place is not None:
        error.came_from(str(place), place.file, place.offset)
        return
    through = _forgotten_by(op)
    if through:
        error.came_from(
            f"It came through {through}, which does not keep where in which file elements were: to be told "
            f"that, call the function before it."
        )


def _forgotten_by(op: Op) -> str:
    """The op between this one and files that keeps rows, if there is one."""
    through = ""
    while len(op.inputs) == 1:
        op = op.inputs[0]
        if op.name in FORGETS:
            through = through or op.called
        if op.opens or any(op.sources()):
            return through
    return through if any(op.sources()) else ""
