"""A user's functions called once for all rows of a block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import penstock.blocks.array_functions  # noqa: F401  (fills the tables of `Rows`)
from penstock.blocks.block import Block
from penstock.blocks.build import as_leaf, column_of, repeated
from penstock.blocks.columns import BytesColumn, Column, DenseColumn, ObjectColumn
from penstock.blocks.later import Later, stand_in
from penstock.blocks.rows import Rows
from penstock.blocks.spec import BYTES, OBJECT, TEXT, Spec, TensorSpec
from penstock.blocks.structure import structure_of
from penstock.blocks.trace import NotVectorizable, Opaque, StandIn, Trace
from penstock.blocks.warned import warned_inside
from penstock.functions.function import UserFunction
from penstock.kernels.halves import Both, one_by_one
from penstock.kernels.spans import Empty
from penstock.memory.buffers import is_stacked

NUMBERS = "biufcmM"
"""The kinds of dtype that a stand-in computes with."""
_LEAVES = (np.ndarray, np.generic, bytes, str, bool, int, float, complex, type(None))
LARGEST_TRIAL = 64 << 20
"""An element of more bytes than this is not made up to find a spec."""


@dataclass(frozen=True)
class Traced:
    """What a call over a block gave."""

    block: Block
    trace: Trace
    leaves: list[Any]
    """The result's leaves: stand-ins, and what is the same in every row."""


def call_over_block(
    functions: Sequence[UserFunction],
    block: Block,
    numbers: NDArray[np.int64],
    empty: Empty,
    trial: Mapping[int, TensorSpec] | None = None,
    both: Both = one_by_one,
    room: int = 0,
) -> Traced:
    """Call the functions one after another, each once; `NotVectorizable` where that cannot be.

    In a `trial`, the block is made up: it has the specs of the columns that are opaque. Results have about
    `room` bytes, or as many as any block.
    """
    trace = Trace(block.rows, empty, both, room)
    try:
        with warned_inside(functions[-1].function, _called.__code__):
            return _called(functions, block, numbers, trace, trial)
    finally:
        trace.owed.clear()  # what is owed refers to the trace: the block would be kept until a collection


def _called(
    functions: Sequence[UserFunction],
    block: Block,
    numbers: NDArray[np.int64],
    trace: Trace,
    trial: Mapping[int, TensorSpec] | None,
) -> Traced:
    element = block.structure.unflatten([_stand_in(column, trace, trial) for column in block.columns])
    leaves: list[Any] = []
    structure = block.structure
    for function in functions:
        result = function.over_block(element, numbers, trace)
        if trace.failed is not None:
            raise NotVectorizable(trace.failed)
        structure = structure_of(result)
        leaves = [_leaf(leaf, trace) for leaf in structure.flatten(result)]
        element = structure.unflatten(leaves)
    columns = [_column(leaf, trace) for leaf in leaves]
    for owed in trace.owed:
        owed()
    return Traced(Block(structure, columns, block.rows), trace, leaves)


def _stand_in(column: Column, trace: Trace, trial: Mapping[int, TensorSpec] | None) -> StandIn:
    if isinstance(column, DenseColumn) and column.dtype.kind in NUMBERS:
        later = stand_in(column, trace)
        if later is not None:
            return later
        trace.sources.append(column.array)
        return Rows(column.array, trace)
    return Opaque(column, trace, trial.get(id(column)) if trial else None)


def _leaf(value: Any, trace: Trace) -> Any:
    """A leaf of a function's result as it would come back out of a column."""
    if isinstance(value, Rows):
        if value._trace is not trace:
            trace.refuse("returns something of an earlier call")
        if isinstance(value, Later) and value.placed is not None:
            return value
        array = value._array
        return value if array.flags.c_contiguous else Rows(np.ascontiguousarray(array), trace)
    if isinstance(value, Opaque):
        return value
    if isinstance(value, list) and value and all(isinstance(part, Rows) for part in value):
        kinds = {(part.dtype, part.shape) for part in value}
        if len(kinds) > 1:
            trace.refuse("returns a list of several dtypes or shapes")
        return np.stack(value)
    if isinstance(value, list) and _plain_list(value):
        return column_of([as_leaf(value)]).item(0)
    if not isinstance(value, _LEAVES):
        trace.refuse(f"returns a {type(value).__name__}")
    if isinstance(value, np.ndarray) and value.dtype == object:
        trace.refuse("returns an array of objects")  # which may have stand-ins anywhere inside
    return column_of([as_leaf(value)]).item(0)


def _plain_list(value: list[Any]) -> bool:
    return all(_plain_list(part) if isinstance(part, list) else isinstance(part, _LEAVES) for part in value)


def _column(leaf: Any, trace: Trace) -> Column:
    if isinstance(leaf, Later) and leaf.placed is not None:
        return leaf.placed
    if isinstance(leaf, Rows):
        array = leaf._array
        passed_on = any(array is source for source in trace.sources)
        return DenseColumn(array if passed_on else _compact(array))
    if isinstance(leaf, Opaque):
        return leaf._column
    return repeated(leaf, trace.rows)


def _compact(array: NDArray[Any]) -> NDArray[Any]:
    """The array, copied if it is a small part of a large one, which it would keep alive."""
    base = array.base
    if not isinstance(base, np.ndarray) or base.nbytes <= 2 * array.nbytes + (64 << 10):
        return array
    return array if is_stacked(array) else array.copy()  # others come to lie in the rest of a stack


def trial_block(spec: Spec) -> tuple[Block, dict[int, TensorSpec]] | None:
    """A block of one made-up row of that spec, and the specs of its columns that are opaque."""
    columns: list[Column] = []
    opaque: dict[int, TensorSpec] = {}
    if sum(leaf.row_bytes or 0 for leaf in spec.leaves) > LARGEST_TRIAL:
        return None
    for leaf in spec.leaves:
        column = _trial_column(leaf)
        if not isinstance(column, DenseColumn) or column.array.dtype.kind not in NUMBERS:
            opaque[id(column)] = leaf
        columns.append(column)
    return Block(spec.structure, columns, 1), opaque


def _trial_column(leaf: TensorSpec) -> Column:
    if leaf.shape is not None and None not in leaf.shape:
        sizes = [size for size in leaf.shape if size is not None]
        if leaf.dtype.kind in NUMBERS:
            return DenseColumn(np.ones((1, *sizes), leaf.dtype))
        if leaf.dtype in (BYTES, TEXT) and leaf.shape == ():
            return BytesColumn(np.zeros(0, np.uint8), np.zeros(2, np.int64), text=leaf.dtype == TEXT)
    return ObjectColumn(np.empty(1, OBJECT))


def spec_of_traced(traced: Traced) -> Spec:
    """The spec of the results of a call over a made-up block."""
    specs = []
    for leaf, column in zip(traced.leaves, traced.block.columns, strict=True):
        known = leaf._spec if isinstance(leaf, Opaque) else None
        specs.append(known if known is not None else column.spec())
    return Spec(traced.block.structure, specs)
