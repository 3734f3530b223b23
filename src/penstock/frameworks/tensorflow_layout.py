"""How the leaves of an element become TensorFlow's tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.ragged import Ragged
from penstock.blocks.spec import OBJECT, DatasetSpec, TensorSpec, dtype_name
from penstock.blocks.structure import Structure
from penstock.errors import ArgumentTypeError

Array = NDArray[Any]
SMALL = 16 << 10
"""Bytes: of elements up to this size, TensorFlow gets many at a time and takes them apart."""
TOGETHER = 1 << 20
"""Bytes that go over at a time, at most."""
MOST = 1024
"""Elements that go over at a time, at most."""
TEXT_BYTES = 64
"""What a string is taken for in that."""
WHOLE = ("float8", "float4", "int4", "uint4", "int2", "uint2")
"""How dtypes begin of which TensorFlow cannot take many apart."""


@dataclass(frozen=True)
class Leaf:
    """One leaf of an element: the tensors that TensorFlow gets for it, and how it is put together of them."""

    shape: tuple[int | None, ...] | None
    dtype: Any
    """TensorFlow's."""
    strings: bool
    splits: tuple[Any, ...] = ()
    """For a ragged leaf, the dtypes of its row splits, the outermost first."""

    def tensors(self) -> list[tuple[Any, tuple[int | None, ...] | None]]:
        """The dtype and shape of each of its tensors."""
        if not self.splits:
            return [(self.dtype, self.shape)]
        inner = None if self.shape is None else (None, *self.shape[len(self.splits) + 1 :])
        rows = None if self.shape is None or self.shape[0] is None else self.shape[0] + 1
        counts = [rows, *[None] * (len(self.splits) - 1)]
        return [(self.dtype, inner), *[(dtype, (n,)) for dtype, n in zip(self.splits, counts, strict=True)]]

    def arrays(self, leaf: Any) -> list[Array]:
        """The arrays of one leaf, in the order of `tensors`."""
        if not self.splits:
            return [_encoded(leaf) if self.strings else np.asarray(leaf)]
        splits = []
        while isinstance(leaf, Ragged):
            splits.append(leaf.row_splits)
            leaf = leaf.values
        return [_encoded(leaf) if self.strings else np.asarray(leaf), *splits]

    def stacked(self, leaves: Sequence[Any]) -> Array:
        """The leaves of many elements in one array."""
        if not self.strings:
            return np.array(leaves)
        shape = () if self.shape is None else tuple(size or 0 for size in self.shape)
        made = np.empty(len(leaves), object)
        made[:] = [_encoded(leaf) if shape else leaf for leaf in leaves]
        return np.stack(list(made)) if shape else _encoded(made)

    def packed(self, tf: Any, tensors: Sequence[Any]) -> Any:
        """The leaf of its tensors, inside a graph of TensorFlow."""
        if not self.splits:
            return tensors[0]
        made = tensors[0]
        for splits in reversed(tensors[1:]):
            made = tf.RaggedTensor.from_row_splits(made, splits, validate=False)
        return made

    @property
    def row_bytes(self) -> int | None:
        """The bytes of one leaf if every one has the same shape; None otherwise, or if it has no items.

        None as well where TensorFlow cannot take many apart.
        """
        # Taking rows without items apart kills the process (TensorFlow 2.21, `unbatch`).
        if self.splits or self.shape is None or None in self.shape or 0 in self.shape:
            return None
        if self.dtype.name.startswith(WHOLE):
            return None
        items = int(np.prod([size or 0 for size in self.shape], dtype=np.int64))
        return items * (TEXT_BYTES if self.strings else int(self.dtype.size))


class Layout:
    """The tensors of an element: those of its leaves, one after another."""

    def __init__(self, structure: Structure, leaves: Sequence[Leaf]) -> None:
        self.structure = structure
        self.leaves = tuple(leaves)
        sizes = [leaf.row_bytes for leaf in leaves]
        each = sum(size or 0 for size in sizes)
        self.together = 0 if None in sizes or each > SMALL else max(1, min(MOST, TOGETHER // max(each, 1)))
        """How many elements TensorFlow may get at a time, as they are small and all of one shape; else 0."""

    def specs(self, tf: Any) -> tuple[Any, ...]:
        """What TensorFlow is given at a time, as its `TensorSpec`s."""
        specs = [spec for leaf in self.leaves for spec in leaf.tensors()]
        if self.together:
            specs = [(dtype, (None, *(shape or ()))) for dtype, shape in specs]
        return tuple(tf.TensorSpec(shape, dtype) for dtype, shape in specs)

    def stacked(self, elements: Sequence[Any]) -> list[Array]:
        """The arrays of many small elements together."""
        columns = zip(*map(self.structure.flatten, elements), strict=True)
        return [leaf.stacked(column) for leaf, column in zip(self.leaves, columns, strict=True)]

    def arrays(self, element: Any) -> list[Array]:
        """The arrays of an element."""
        flat = self.structure.flatten(element)
        return [a for leaf, value in zip(self.leaves, flat, strict=True) for a in leaf.arrays(value)]

    def packed(self, tf: Any, tensors: Sequence[Any]) -> Any:
        """The element of its tensors, inside a graph of TensorFlow."""
        rest, made = list(tensors), []
        for leaf in self.leaves:
            count = len(leaf.tensors())
            made.append(leaf.packed(tf, rest[:count]))
            rest = rest[count:]
        return self.structure.unflatten(made)


def layout_of(tf: Any, structure: Structure, specs: Sequence[TensorSpec], first: Any, call: str) -> Layout:
    """The layout for a spec; `first` is an element where the spec leaves open what is ragged, or None."""
    if not specs:
        raise ArgumentTypeError(f"{call}: expected elements with something in them, got {structure}.")
    values = [None] * len(specs) if first is None else structure.flatten(first)
    leaves = []
    for path, spec, value in zip(structure.paths(), specs, values, strict=True):
        splits = []
        while isinstance(value, Ragged):
            splits.append(tf.as_dtype(value.row_splits.dtype))
            value = value.values
        strings = spec.dtype.kind in "SU"
        dtype = tf.string if strings else _dtype_of(tf, spec, f"{call}: {path or 'the element'}")
        leaves.append(Leaf(spec.shape, dtype, strings, tuple(splits)))
    return Layout(structure, leaves)


def may_be_ragged(spec: TensorSpec) -> bool:
    """Whether a leaf of this spec may be a `Ragged`: only an element tells."""
    return spec.shape is None or None in spec.shape[1:]


def _dtype_of(tf: Any, spec: TensorSpec, where: str) -> Any:
    if isinstance(spec, DatasetSpec):
        raise ArgumentTypeError(
            f"{where} is a dataset, as window() gives them. Make one element of each: "
            f"ds.flat_map(lambda window: window.batch(n))."
        )
    try:
        if spec.dtype == OBJECT:
            raise TypeError
        return tf.as_dtype(spec.dtype)
    except TypeError:
        raise ArgumentTypeError(
            f"{where} has the dtype {dtype_name(spec.dtype)}, which TensorFlow does not have. "
            f"Convert it with map()."
        ) from None


def _encoded(strings: Any) -> Array:
    """Strings as an array of `bytes` objects, as TensorFlow takes them."""
    given = np.asarray(strings, object)
    made = np.empty(given.shape, object)
    flat = [text.encode() if isinstance(text, str) else text for text in given.ravel().tolist()]
    made.ravel()[:] = flat
    return made
