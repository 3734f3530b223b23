"""Pictures of all rows of a block: one dense array where their shapes are equal, ragged otherwise."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.columns import BytesColumn, RaggedColumn
from penstock.blocks.rows import Rows
from penstock.blocks.spec import BYTES
from penstock.blocks.trace import NotDecided, Opaque, RowFailed, StandIn, Trace
from penstock.errors import ArgumentTypeError, DataError
from penstock.graph.plan import BLOCK_BYTES
from penstock.image.codecs.picture import Kept, Picture
from penstock.kernels.spans import offsets_of

T = TypeVar("T")


def contents_of(value: Any, call: str) -> memoryview:
    """A user's bytes, as they are."""
    if isinstance(value, bytes | bytearray | memoryview):
        view = memoryview(value)
        if view.contiguous:
            return view.cast("B")
    read = (
        " If it is the name of a file, read that first: ps.io.read_file(name)."
        if isinstance(value, str)
        else ""
    )
    raise ArgumentTypeError(f"{call}: expected the bytes of an image, got {_described(value)}.{read}")


def _described(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    return f"a {type(value).__name__}"


def contents_of_rows(value: StandIn, call: str) -> list[memoryview]:
    """The bytes of each row of a block, none of them copied."""
    column = value._column if isinstance(value, Opaque) else None
    if isinstance(value, Opaque) and value._spec is not None and value._spec.dtype == BYTES:
        raise NotDecided("there is nothing to decode in a trial")
    if not isinstance(column, BytesColumn) or column.text or column.shape:
        value._refuse(f"uses {call} on an element that is no bytes")
    value._trace.may_raise = True  # what cannot be decoded is found out only now
    everything = memoryview(column.values).cast("B")  # type: ignore[arg-type]
    return [everything[start:end] for start, end in pairwise(column.offsets.tolist())]


def of_each(make: Callable[..., T], rows: Iterable[tuple[Any, ...]]) -> list[T]:
    """What is made of each row; one that fails does so alone."""
    made: list[T] = []
    try:
        for row in rows:
            made.append(make(*row))  # noqa: PERF401
    except DataError:
        raise RowFailed(len(made)) from None
    return made


def values_of_rows(value: Any, trace: Trace) -> list[Any]:
    """What a value is in each row: a stand-in's leaves, or the same thing again and again."""
    if isinstance(value, Rows):
        return list(value._array)
    if isinstance(value, StandIn):
        value._refuse("uses an element that is no array of one shape")
    if isinstance(value, list | tuple):
        return list(zip(*(values_of_rows(part, trace) for part in value), strict=True))
    return [value] * trace.rows


def decoded_rows(pictures: Sequence[Picture], trace: Trace) -> Rows | Opaque:
    """The stand-in for the decoded pictures, one a row."""
    first = pictures[0]
    if any(picture.dtype != first.dtype or len(picture.shape) != len(first.shape) for picture in pictures):
        trace.refuse("decodes images of several kinds")
    sizes = np.cumsum([math.prod(picture.shape) * first.dtype.itemsize for picture in pictures])
    room = max(trace.room, BLOCK_BYTES)
    if sizes[-1] > room and len(pictures) > 1:
        # How many rows make a block was learned from other, smaller rows: those before come first.
        raise RowFailed(max(1, int(np.searchsorted(sizes, room, "right"))))
    if all(picture.shape == first.shape for picture in pictures):
        out = trace.empty((len(pictures), *first.shape), first.dtype)
        fill(pictures, out, 0, len(pictures))
        trace.largest = max(trace.largest, out.nbytes)
        return Rows(out, trace)
    shapes = np.array([picture.shape for picture in pictures], np.int64)
    offsets = offsets_of(shapes.prod(axis=1))
    values = trace.empty((int(offsets[-1]),), first.dtype)
    column = RaggedColumn(values, offsets, shapes)
    fill(pictures, list(column.items()), 0, len(pictures))
    trace.largest = max(trace.largest, values.nbytes)
    return Opaque(column, trace)


def fill(
    pictures: Sequence[Picture], out: Sequence[NDArray[Any]] | NDArray[Any], start: int, stop: int
) -> None:
    """Decode the rows from `start` up to `stop`; others may decode other rows at the same time."""
    kept = Kept()
    for row in range(start, stop):
        try:
            pictures[row].into(out[row], kept)
        except DataError:
            raise RowFailed(row) from None
