"""What is written: whether it can be, and what all elements have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from penstock.blocks.block import Block
from penstock.blocks.columns import Column, ObjectColumn
from penstock.blocks.spec import BYTES, OBJECT, TEXT, DatasetSpec, Spec, TensorSpec, dtype_name, spec_of
from penstock.blocks.trace import trusted
from penstock.errors import ArgumentTypeError
from penstock.graph.op import Op
from penstock.graph.running import Context, Running
from penstock.io.examples.serialize import serialize_example
from penstock.writing.manifest import Feature

STORED = {"b": "int64", "i": "int64", "u": "int64", "f": "float32", "S": "bytes", "U": "bytes", "O": "bytes"}
"""By the kind of a dtype, what it is in a tf.train.Example."""

NONE = Feature("none", None, "bytes", optional=True)
"""A feature without values, as far as is known."""


class Observed:
    """What the elements so far have in common, by feature."""

    def __init__(self, known: dict[str, Feature] | None) -> None:
        self._features = dict(known or {})

    def features(self) -> dict[str, Feature] | None:
        """As far as is known; None where elements are bytes."""
        return dict(self._features) or None

    def look(self, block: Block) -> None:
        """Add the rows of a block."""
        if block.structure.is_leaf:
            return
        for name, column in zip(block.structure.keys, block.columns, strict=True):
            self._add(name, _feature(column))

    def add(self, features: dict[str, Feature] | None) -> None:
        """Add what another one has seen."""
        for name, found in (features or {}).items():
            self._add(name, found)

    def _add(self, name: str, found: Feature) -> None:
        known = self._features.get(name)
        self._features[name] = found if known is None else _common(known, found)


def _feature(column: Column) -> Feature:
    if not isinstance(column, ObjectColumn):
        return _of_spec(column.spec())
    return reduce(_common, [NONE if item is None else _of_spec(spec_of(item)) for item in column.array])


def _of_spec(spec: TensorSpec) -> Feature:
    return Feature(dtype_name(spec.dtype), spec.shape, STORED.get(spec.dtype.kind, "bytes"))


def _common(one: Feature, other: Feature) -> Feature:
    if NONE.dtype in (one.dtype, other.dtype):
        return replace(one if other.dtype == NONE.dtype else other, optional=True)
    shape: tuple[int | None, ...] | None = None
    if one.shape is not None and other.shape is not None and len(one.shape) == len(other.shape):
        shape = tuple(a if a == b else None for a, b in zip(one.shape, other.shape, strict=True))
    # No strings at all are of any kind: arrays of none have the dtype of references.
    wider = other if one.dtype == "object" else one
    return Feature(wider.dtype, shape, wider.stored, one.optional or other.optional)


@trusted
def record_of(element: Any) -> bytes:
    """The record that an element is, or that a dict becomes."""
    record: bytes = serialize_example(element) if isinstance(element, Mapping) else element
    return record


def check_elements(spec: Spec, where: str) -> None:
    """An error for what cannot be written."""
    structure = spec.structure
    if structure.is_leaf and spec.leaves[0].dtype == BYTES and spec.leaves[0].shape in ((), None):
        return
    if structure.kind is not dict:
        raise ArgumentTypeError(
            f"{where}: expected elements that are dicts of numbers, arrays, bytes or str, or that are bytes, "
            f"got {spec.nest()}. Map them to dicts first: {_example(spec)}."
        )
    for name, child in zip(structure.keys, structure.children, strict=True):
        if not isinstance(name, str):
            raise ArgumentTypeError(
                f"{where}: expected features whose names are str, got {name!r}. Map to a dict of other keys."
            )
        if not child.is_leaf:
            raise ArgumentTypeError(
                f"{where}: expected numbers, arrays, bytes or str in feature {name!r}, got {child}. "
                f"Map to a dict without anything nested in it."
            )
    for name, leaf in zip(structure.keys, spec.leaves, strict=True):
        _check_leaf(name, leaf, where)


def _check_leaf(name: str, leaf: TensorSpec, where: str) -> None:
    if isinstance(leaf, DatasetSpec):
        raise ArgumentTypeError(
            f"{where}: expected numbers, arrays, bytes or str in feature {name!r}, got a dataset. "
            f"Batch it first: ds.flat_map(lambda window: window.batch(n))."
        )
    if leaf.dtype not in (BYTES, TEXT, OBJECT) and leaf.dtype.kind not in "biufSU":
        raise ArgumentTypeError(
            f"{where}: expected whole numbers, floats, bytes or str in feature {name!r}, got "
            f"{dtype_name(leaf.dtype)}. Map it to one of those, as a view or in two features."
        )


def _example(spec: Spec) -> str:
    children = spec.structure.children
    names = ["x"] if spec.structure.is_leaf else [f"x{number}" for number in range(len(children))]
    pairs = ", ".join(f"'{name}': {name}" for name in names)
    return f"ds.map(lambda {', '.join(names)}: {{{pairs}}})"


@dataclass(frozen=True, eq=False, kw_only=True)
class Observe(Op):
    """Looks at what passes."""

    observed: Observed = field(repr=False)

    name = "observe"

    def start(self, context: Context) -> Running:
        return RunningObserve(self, context)

    def find_spec(self) -> Spec | None:
        return self.inputs[0].spec

    def find_cardinality(self) -> int:
        return self.inputs[0].cardinality


class RunningObserve(Running):
    """Passes blocks on; an error for a block that cannot be written."""

    def __init__(self, op: Observe, context: Context) -> None:
        self._upstream = context.input()
        self._where = context.where
        self._observed = op.observed
        self._checked: Any = None

    def pull(self, rows: int) -> Block | None:
        block = self._upstream.pull(rows)
        if block is not None:
            if block.structure.is_leaf or self._checked != block.structure:
                check_elements(block.spec(), self._where)
                self._checked = block.structure
            self._observed.look(block)
        return block

    def state(self) -> Any:
        return {"input": self._upstream.state()}

    def restore(self, state: Any) -> None:
        self._upstream.restore(state["input"])
