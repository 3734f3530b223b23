"""Rows that are kept and given out more than once: whoever gets them cannot change what the next one gets."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.columns import Column, DenseColumn, ObjectColumn, RaggedColumn
from penstock.blocks.ragged import Ragged


def read_only(block: Block, *, shared: bool = True) -> Block:
    """The same rows, with arrays that cannot be written to, and with copies of objects that are `shared`."""
    return block.with_columns([_locked(column, shared=shared) for column in block.columns])


def _locked(column: Column, *, shared: bool) -> Column:
    if isinstance(column, DenseColumn):
        return DenseColumn(_view(column.array))
    if isinstance(column, RaggedColumn):
        return RaggedColumn(_view(column.values), column.offsets, column.shapes)
    if isinstance(column, ObjectColumn) and shared:
        kept = list(column.array)
        given = [_apart(item) for item in kept]
        if any(one is not other for one, other in zip(kept, given, strict=True)):
            items = np.empty(len(given), object)
            for i, item in enumerate(given):
                items[i] = item
            return ObjectColumn(items)
    return column


def _apart(item: Any) -> Any:
    """A leaf that can be changed, if at all, without a change to the one that is kept."""
    if isinstance(item, np.ndarray) and not item.dtype.hasobject:
        return _view(item)
    if isinstance(item, Ragged):
        return Ragged(_apart(item.values), _view(item.row_splits))
    if isinstance(item, frozenset):
        return item
    try:
        return copy.deepcopy(item)
    except Exception:  # an object that cannot be copied is given out as it is
        return item


def _view(array: NDArray[Any]) -> NDArray[Any]:
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view
