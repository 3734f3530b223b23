"""`ps.from_tensorflow`: the elements of a `tf.data.Dataset`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.blocks.ragged import Ragged
from penstock.blocks.spec import BYTES, Spec, TensorSpec
from penstock.blocks.structure import LEAF, Structure, structure_of
from penstock.errors import ArgumentTypeError, DataError, PenstockError
from penstock.graph.op import Op
from penstock.graph.running import Context, Running
from penstock.io.formats.optional import optional
from penstock.ops.parts.collect import Collector
from penstock.ops.parts.collected import CollectedSource

LASTING = (
    "AbortedError",
    "CancelledError",
    "NotFoundError",
    "PermissionDeniedError",
    "ResourceExhaustedError",
    "UnauthenticatedError",
    "UnavailableError",
)
"""Errors of TensorFlow that would come again and again: there is no going on after them."""


@dataclass(frozen=True, eq=False, kw_only=True)
class FromTensorflow(Op):
    """The elements of a dataset of TensorFlow; each run iterates over it anew."""

    dataset: Any = field(repr=False, metadata={"fingerprint": False})
    said: str = field(default="", repr=False)
    """What the dataset says of itself: all that there is to tell it from another one by."""

    name = "from_tensorflow"

    def __post_init__(self) -> None:
        tf = optional("tensorflow", "tensorflow")
        if not isinstance(self.dataset, tf.data.Dataset):
            raise ArgumentTypeError(
                self.fail(f"expected a tf.data.Dataset, got a {type(self.dataset).__name__}.")
            )
        self.find_spec()
        dataset = self.dataset
        object.__setattr__(self, "said", f"{dataset.element_spec} {int(dataset.cardinality())}")

    def start(self, context: Context) -> Running:
        return RunningTensorflow(self, context)

    def find_spec(self) -> Spec | None:
        tf = optional("tensorflow", "tensorflow")
        structure = _structure_of(self.dataset.element_spec, self)
        leaves = structure.flatten(self.dataset.element_spec)
        paths = structure.paths()
        return Spec(structure, [_spec_of(tf, *pair, self) for pair in zip(leaves, paths, strict=True)])

    def find_cardinality(self) -> int:
        return int(self.dataset.cardinality())  # INFINITE and UNKNOWN are the same numbers there

    def describe(self) -> str:
        return f"from_tensorflow({type(self.dataset).__name__})"


class RunningTensorflow(CollectedSource):
    """Asks a new iterator of TensorFlow for elements, until they fill a block."""

    replays = "an iterator of TensorFlow begins at the beginning"

    def __init__(self, op: FromTensorflow, context: Context) -> None:
        self._tf = optional("tensorflow", "tensorflow")
        self._op = op
        self._label, self._where = context.label, context.where
        spec = op.spec
        assert spec is not None
        self._structure = spec.structure
        super().__init__(Collector(context.label, context.block_bytes, spec.structure, where=context.where))
        self._source: Iterator[Any] | None = None
        self._seen = 0

    def _make(self, rows: int) -> None:
        """Collect up to so many elements, fewer if they fill a block."""
        if self._source is None:
            self._source = iter(self._op.dataset)
        for _ in range(rows):
            try:
                element = next(self._source)
            except StopIteration:
                self.close()
                return
            except self._tf.errors.OpError as error:
                raise self._failed(error) from error
            self._seen += 1
            leaves = [_leaf_of(self._tf, leaf) for leaf in self._structure.flatten(element)]
            del element
            self._made.add(leaves)
            del leaves
            if self._made.full:
                return

    def _failed(self, error: Any) -> PenstockError:
        number = self._seen
        self._seen += 1
        kind, said = type(error).__name__, str(error.message or error).strip()
        if kind in LASTING:
            self.close()
            return PenstockError(
                f"{self._where}: TensorFlow failed at element {number}, and cannot go on: {kind}: {said}"
            )
        return DataError(
            f"{self._where}: TensorFlow failed to make element {number}: {kind}: {said}",
            op=self._label,
            number=number,
        )

    def state(self) -> Any:
        return None

    def restore(self, state: Any) -> None:
        assert state is None, "it begins at the beginning"

    def close(self) -> None:
        self._source = None  # an iterator of TensorFlow ends when nobody refers to it
        self._ended = True
        self._error = None


def _structure_of(nest: Any, op: FromTensorflow) -> Structure:
    """The structure of an `element_spec`: TensorFlow's own kinds of nests are refused."""
    structure = structure_of(nest, top=False)
    for path, leaf in zip(structure.paths(), structure.flatten(nest), strict=True):
        if isinstance(leaf, list) or leaf is None:
            raise ArgumentTypeError(
                op.fail(f"expected dicts and tuples of tensors, got {leaf!r}{f' at {path}' if path else ''}.")
            )
    return structure if structure.children or structure.is_leaf else LEAF


def _spec_of(tf: Any, spec: Any, path: str, op: FromTensorflow) -> TensorSpec:
    place = f" at {path}" if path else ""
    if isinstance(spec, tf.SparseTensorSpec):
        raise ArgumentTypeError(
            op.fail(f"sparse tensors are not taken{place}. Make them dense: dataset.map(tf.sparse.to_dense).")
        )
    if not isinstance(spec, tf.TensorSpec | tf.RaggedTensorSpec):
        raise ArgumentTypeError(op.fail(f"expected tensors, got {type(spec).__name__}{place}."))
    shape = None if spec.shape.rank is None else tuple(spec.shape.as_list())
    if spec.dtype == tf.string:
        return TensorSpec(shape, BYTES)
    try:
        return TensorSpec(shape, spec.dtype.as_numpy_dtype)
    except TypeError:
        raise ArgumentTypeError(op.fail(f"NumPy has no dtype for {spec.dtype.name}{place}.")) from None


def _leaf_of(tf: Any, tensor: Any) -> Any:
    """A tensor as a leaf."""
    if isinstance(tensor, tf.RaggedTensor):
        return Ragged(_leaf_of(tf, tensor.values), np.asarray(tensor.row_splits))
    if tensor.dtype == tf.string:
        made = tensor.numpy()
        return made if isinstance(made, bytes) else np.asarray(made, object)
    return np.asarray(tensor)[()]
