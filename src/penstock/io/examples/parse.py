"""`parse_example` and `parse_single_example`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from penstock.blocks.build import column_of
from penstock.blocks.columns import BytesColumn, Column, DenseColumn, ObjectColumn
from penstock.blocks.rows import Rows
from penstock.blocks.spec import BYTES, OBJECT, TensorSpec
from penstock.blocks.structure import structure_of
from penstock.blocks.trace import Opaque, RowFailed, StandIn, Trace, Undecided, block_function
from penstock.errors import ArgumentTypeError, DataError
from penstock.io.examples.features import Feature
from penstock.io.examples.found import BadRecord, Index, Keys, Raw, find
from penstock.io.examples.plan import reading_of
from penstock.io.examples.readings import Frame

LARGEST = 64 << 20
"""A made-up array has no more bytes than this."""


class Parser:
    """What is asked for of every record, worked out once."""

    def __init__(self, features: Mapping[str, Feature], call: str) -> None:
        self.readings = {name: reading_of(name, feature, call) for name, feature in features.items()}
        self._keys = Keys([slot for one in self.readings.values() for slot in one.slots])
        self.scratch = 24 * len(self._keys.slots)
        """The bytes that are needed for each record while its values are looked for."""

    def columns(self, serialized: BytesColumn, frame: Frame) -> Any:
        """The columns of the records; `BadRecord` if one is not right."""
        found = iter(find(serialized, self._keys))
        return {
            name: one.column([next(found) for _ in one.slots], frame) for name, one in self.readings.items()
        }

    def spec(self, outer: tuple[int | None, ...]) -> Any:
        """The specs of what comes back."""
        return {name: one.spec(outer) for name, one in self.readings.items()}


@lru_cache(64)
def _parser(features: tuple[tuple[str, Feature], ...], call: str) -> Parser:
    return Parser(dict(features), call)


def check_features(features: Any, call: str) -> Mapping[str, Feature]:
    """A dict of features, or an error that says so."""
    if not isinstance(features, Mapping) or not all(isinstance(name, str) for name in features):
        raise ArgumentTypeError(
            f"{call}: expected a dict from names to features, such as "
            f"{{'label': FixedLenFeature([], 'int64')}}, got {features!r}."
        )
    for name, feature in features.items():
        if not isinstance(feature, Feature):
            raise ArgumentTypeError(
                f"{call}: expected a FixedLenFeature or its like for {name!r}, got {feature!r}."
            )
    return features


def parser_of(features: Any, call: str) -> Parser:
    """What parses these features; that it was made before is remembered."""
    return _parser(tuple(check_features(features, f"{call}(features=)").items()), call)


def records_of(serialized: Any, call: str, *, batched: bool | None) -> tuple[Raw, Index, int | None]:
    """Serialized examples as a buffer and offsets, and how many of them there are; None for one.

    `batched` says what is expected; None: either.
    """
    if isinstance(serialized, bytes | bytearray | memoryview) and batched is not True:
        buf = np.frombuffer(serialized, np.uint8)
        return buf, np.array([0, len(buf)], np.int64), None
    if isinstance(serialized, np.ndarray) and serialized.dtype.kind == "S":
        raise ArgumentTypeError(
            f"{call}(serialized=): expected bytes or an array of them of dtype object, got "
            f"{serialized.dtype}, of which NumPy drops zeros at the end. Use a list, or "
            f"np.array(..., dtype=object)."
        )
    flat = serialized.tolist() if isinstance(serialized, np.ndarray) and serialized.ndim == 1 else serialized
    if (
        batched is not False
        and isinstance(flat, list | tuple)
        and all(isinstance(one, bytes) for one in flat)
    ):
        if not flat:
            return np.empty(0, np.uint8), np.zeros(1, np.int64), 0
        column = column_of(list(map(bytes, flat)))
        assert isinstance(column, BytesColumn)
        return column.values, column.offsets, len(flat)
    expected = {None: "bytes or an array of them", True: "an array of bytes", False: "bytes"}[batched]
    raise ArgumentTypeError(f"{call}(serialized=): expected {expected}, got {_brief(serialized)}.")


def _brief(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} of shape {value.shape}"
    return f"a {type(value).__name__}"


class AnyParser(Protocol):
    """What parses records of some kind."""

    scratch: int

    def columns(self, serialized: BytesColumn, frame: Frame) -> Any:
        """The columns of the records; `BadRecord` if one is not right."""

    def spec(self, outer: tuple[int | None, ...]) -> Any:
        """The specs of what comes back."""


def parse_plain(parser: AnyParser, records: tuple[Raw, Index, int | None]) -> Any:
    """What one call gives: a block of one row, and its only element."""
    buf, offsets, batch = records
    try:
        made = parser.columns(BytesColumn(buf, offsets, text=False), Frame(1, batch, np.empty))
    except BadRecord as bad:
        where = "" if batch is None else f"record {bad.record}, "
        raise DataError(f"tf.train.Example {where}{bad}.") from None
    structure = structure_of(made)
    return structure.unflatten([column.item(0) for column in structure.flatten(made)])


def parse_block(serialized: Any, parser: AnyParser, *, batched: bool | None) -> Any:
    """What a call over a block gives: stand-ins for the columns."""
    assert isinstance(serialized, StandIn)
    trace = serialized._trace
    if not isinstance(serialized, Opaque):
        trace.refuse("parses something that is not bytes")
    trace.may_raise = True
    if serialized._spec is not None:
        return _trial(serialized._spec, parser.spec, trace, batched=batched)
    column = serialized._column
    fits = isinstance(column, BytesColumn) and not column.text and len(column.shape) <= 1
    if not fits or (batched is not None and batched != (column.shape != ())):  # type: ignore[attr-defined]
        trace.refuse("parses something that is not bytes, or not as many as are expected")
    assert isinstance(column, BytesColumn)
    batch = column.shape[0] if column.shape else None
    try:
        made = parser.columns(column, Frame(column.rows, batch, trace.empty))
    except BadRecord as bad:
        raise RowFailed(bad.record // (batch or 1)) from None
    trace.largest = max(trace.largest, parser.scratch * column.rows * (batch or 1))
    return _over(made, lambda column: stand_in(column, trace))


def stand_in(column: Column, trace: Trace) -> StandIn:
    """A new column's place in a call over a block."""
    trace.largest = max(trace.largest, column.nbytes)
    return Rows(column.array, trace) if isinstance(column, DenseColumn) else Opaque(column, trace)


def _over(nest: Any, function: Callable[[Any], Any]) -> Any:
    structure = structure_of(nest)
    return structure.unflatten([function(leaf) for leaf in structure.flatten(nest)])


def _trial(
    leaf: TensorSpec, spec: Callable[[tuple[int | None, ...]], Any], trace: Trace, *, batched: bool | None
) -> Any:
    known = leaf.dtype == BYTES and leaf.shape is not None and len(leaf.shape) <= 1
    if not known or (batched is not None and batched != (leaf.shape != ())):
        trace.refuse("parses something that is not bytes, or not as many as are expected")
    assert leaf.shape is not None
    settled = None not in leaf.shape
    return _over(spec(leaf.shape), lambda one: made_up(one, trace, settled=settled))


def made_up(spec: TensorSpec, trace: Trace, *, settled: bool) -> StandIn:
    """A stand-in of a trial for a leaf of that spec; `settled`: what is not of one shape never will be."""
    trace.made_up = True
    size = spec.row_bytes
    if size is not None and size <= LARGEST:
        sizes = [one for one in spec.shape or () if one is not None]
        return Rows(np.ones((1, *sizes), spec.dtype), trace)
    kind = Opaque if settled or spec.dtype == BYTES else Undecided
    return kind(ObjectColumn(np.empty(1, OBJECT)), trace, spec)


def _example_over_block(serialized: Any, features: Any, example_names: Any = None, name: Any = None) -> Any:  # noqa: ARG001
    parser = parser_of(features, "ps.io.parse_example")
    return parse_block(serialized, parser, batched=None)


@block_function(_example_over_block)
def parse_example(serialized: Any, features: Any, example_names: Any = None, name: Any = None) -> Any:  # noqa: ARG001
    """Parse a batch of serialized `tf.train.Example`s, as `tf.io.parse_example` does.

    `features` says what is read; nothing else is looked at. An array of n examples gives arrays
    whose first axis is n, and a `ps.Ragged` for a `VarLenFeature`. `example_names` and `name` are taken
    so that calls written for TensorFlow work, and are not used.

    >>> import penstock as ps
    >>> examples = [ps.io.serialize_example({"x": i, "name": b"ab"}) for i in range(3)]
    >>> features = {"x": ps.io.FixedLenFeature([], "int64"), "name": ps.io.FixedLenFeature([], "string")}
    >>> ps.io.parse_example(examples, features)
    {'x': array([0, 1, 2]), 'name': array([b'ab', b'ab', b'ab'], dtype=object)}
    >>> ds = ps.Dataset.from_tensor_slices(examples).batch(2)
    >>> [batch["x"].tolist() for batch in ds.map(lambda e: ps.io.parse_example(e, features))]
    [[0, 1], [2]]
    """
    call = "ps.io.parse_example"
    return parse_plain(parser_of(features, call), records_of(serialized, call, batched=None))


def _single_over_block(serialized: Any, features: Any, example_names: Any = None, name: Any = None) -> Any:  # noqa: ARG001
    parser = parser_of(features, "ps.io.parse_single_example")
    return parse_block(serialized, parser, batched=False)


@block_function(_single_over_block)
def parse_single_example(serialized: Any, features: Any, example_names: Any = None, name: Any = None) -> Any:  # noqa: ARG001
    """Parse one serialized `tf.train.Example`, as `tf.io.parse_single_example` does.

    In a `map` over bytes all examples of a block are parsed at once.

    >>> import penstock as ps
    >>> examples = [ps.io.serialize_example({"x": i}) for i in range(3)]
    >>> features = {"x": ps.io.FixedLenFeature([], "int64")}
    >>> ds = ps.Dataset.from_tensor_slices(examples)
    >>> list(ds.map(lambda e: ps.io.parse_single_example(e, features)["x"]))
    [np.int64(0), np.int64(1), np.int64(2)]
    """
    call = "ps.io.parse_single_example"
    return parse_plain(parser_of(features, call), records_of(serialized, call, batched=False))
