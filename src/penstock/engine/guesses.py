"""Results that are made before it is known what the first one looks like, which all others are held to.

The first result in the order of the stream decides, never the first in time. What was made elsewhere
meanwhile is looked at when its turn has come: where it is of another structure, it is made once more.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.blocks.block import Block
from penstock.errors import DataError
from penstock.functions.plain_rows import PlainRows


class Undecided(Exception):  # noqa: N818
    """A call that is to be made here has to wait until it is known what results look like."""


def agrees(rows: PlainRows, made: Sequence[Block | BaseException]) -> bool:
    """Whether what was made without knowing it is what would have been made with what is known now.

    All before it has been handed on: if none of it was a result, this decides.
    """
    for result in made:
        if isinstance(result, Block):
            rows.structure = rows.structure or result.structure
            return result.structure == rows.structure
    # That a result is not what it should be depends on what was taken for that; other errors do not.
    return bool(made) and not isinstance(made[0], DataError)
