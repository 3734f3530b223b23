"""Where the axes of a row are in a block, which has one more in front."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks import elementwise
from penstock.blocks.rows import Rows, trace_of
from penstock.blocks.trace import StandIn


def axis_of(axis: Any, rank: int) -> int:
    """The axis of the block that is `axis` of a row of that rank."""
    place = int(operator.index(axis))
    if not -rank <= place < rank:
        raise np.exceptions.AxisError(place, rank)
    return place % rank + 1


def axes_of(axis: Any, rank: int) -> tuple[int, ...]:
    """The axes of the block that are `axis` of a row of that rank; all of a row's for None."""
    if axis is None:
        return tuple(range(1, rank + 1))
    if isinstance(axis, tuple | list):
        return tuple(axis_of(one, rank) for one in axis)
    return (axis_of(axis, rank),)


def flat_of(a: Rows) -> NDArray[Any]:
    """The rows, each flat."""
    return a._array.reshape(len(a._array), a.size)


def blocks_of(values: Sequence[Any]) -> list[NDArray[Any]]:
    """Each value with a row axis: what is the same in every row is repeated, without a copy."""
    trace = trace_of(values)
    arrays = []
    for value in values:
        if isinstance(value, StandIn):
            arrays.append(elementwise.align(trace, value, 0))
        else:
            constant = np.asanyarray(value)
            arrays.append(np.broadcast_to(constant, (trace.rows, *constant.shape)))
    return arrays
