"""What is known of a leaf before it is seen: its dtype and its shape."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.blocks.extended import extended, looks_extended
from penstock.blocks.ragged import Ragged
from penstock.blocks.structure import Structure
from penstock.errors import ArgumentTypeError
from penstock.site import user_site

BYTES = np.dtype("S")
"""The dtype of `bytes` leaves of any length."""
TEXT = np.dtype("U")
"""The dtype of `str` leaves of any length."""
OBJECT = np.dtype("O")


class TensorSpec:
    """The dtype and the shape of a leaf; `None` in the shape is a dimension that varies.

    `bytes` and `str` are dtypes too. A shape of None means that even the rank is unknown.

    >>> TensorSpec(shape=(None, 3), dtype="float32")
    TensorSpec(shape=(None, 3), dtype=float32)
    """

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: Sequence[int | None] | int | None, dtype: Any = np.float32) -> None:
        if shape is not None:
            sizes = (shape,) if isinstance(shape, int) else tuple(shape)
            for size in sizes:
                whole = isinstance(size, int | np.integer) and not isinstance(size, bool)
                if size is not None and not (whole and size >= 0):
                    raise ArgumentTypeError(
                        f"TensorSpec(shape=) at {user_site()}: expected sizes or None, got {size!r} in "
                        f"{shape!r}."
                    )
            shape = tuple(None if size is None else int(size) for size in sizes)
        object.__setattr__(self, "shape", shape)
        try:
            known = extended(dtype) if looks_extended(dtype) else np.dtype(dtype)
            # Strings have a length of their own each.
            object.__setattr__(self, "dtype", np.dtype(known.kind) if known.kind in "SU" else known)
        except (TypeError, ValueError) as error:
            raise ArgumentTypeError(
                f"TensorSpec(dtype=) at {user_site()}: expected a NumPy dtype, bytes or str, got {dtype!r}."
            ) from error

    shape: tuple[int | None, ...] | None
    dtype: np.dtype[Any]

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a TensorSpec is frozen: cannot set {name!r}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorSpec) and self.shape == other.shape and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={dtype_name(self.dtype)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorSpec, (self.shape, self.dtype)

    @property
    def row_bytes(self) -> int | None:
        """The bytes of one leaf, where the spec alone tells."""
        if self.shape is None or self.dtype.itemsize == 0 or self.dtype == OBJECT:
            return None
        sizes = [size for size in self.shape if size is not None]
        if len(sizes) < len(self.shape):
            return None
        return math.prod(sizes) * self.dtype.itemsize

    def accepts(self, value: Any) -> bool:
        """Whether a leaf agrees with this spec."""
        came = spec_of(value)
        if came.dtype == OBJECT and self.dtype in (BYTES, TEXT) and np.size(value) == 0:
            came = TensorSpec(came.shape, self.dtype)  # no strings are strings of either kind
        return self.covers(came)

    def covers(self, other: TensorSpec) -> bool:
        """Whether every leaf of the spec `other` agrees with this one."""
        if self.dtype != other.dtype:
            return False
        if self.shape is None:
            return True
        if other.shape is None or len(self.shape) != len(other.shape):
            return False
        return all(mine is None or mine == its for mine, its in zip(self.shape, other.shape, strict=True))

    def batched(self, size: int | None) -> TensorSpec:
        """The spec of `size` such leaves stacked."""
        return TensorSpec(None if self.shape is None else (size, *self.shape), self.dtype)

    def common(self, other: TensorSpec) -> TensorSpec | None:
        """The narrowest spec over both, or None where the dtypes differ."""
        if self.dtype != other.dtype:
            return None
        if self.shape is None or other.shape is None or len(self.shape) != len(other.shape):
            return TensorSpec(None, self.dtype)
        pairs = zip(self.shape, other.shape, strict=True)
        return TensorSpec(tuple(a if a == b else None for a, b in pairs), self.dtype)


class DatasetSpec(TensorSpec):
    """The spec of a leaf that is a dataset, as `window` gives them.

    >>> import penstock as ps
    >>> ps.Dataset.range(5).window(2).element_spec
    DatasetSpec(TensorSpec(shape=(), dtype=int64))
    """

    __slots__ = ("element_spec",)
    element_spec: TensorSpec

    def __init__(self, element_spec: TensorSpec) -> None:
        super().__init__((), OBJECT)
        object.__setattr__(self, "element_spec", element_spec)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DatasetSpec) and self.element_spec == other.element_spec

    def __hash__(self) -> int:
        return hash((DatasetSpec, self.element_spec))

    def __repr__(self) -> str:
        return f"DatasetSpec({self.element_spec!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return DatasetSpec, (self.element_spec,)

    def common(self, other: TensorSpec) -> TensorSpec | None:
        inner = self.element_spec.common(other.element_spec) if isinstance(other, DatasetSpec) else None
        return super().common(other) if inner is None else DatasetSpec(inner)


class Spec:
    """The spec of a whole element: a structure with one `TensorSpec` a leaf."""

    __slots__ = ("leaves", "structure")

    def __init__(self, structure: Structure, leaves: Sequence[TensorSpec]) -> None:
        self.structure = structure
        self.leaves = tuple(leaves)

    def nest(self) -> Any:
        """The nest of `TensorSpec`s that users see as `element_spec`."""
        return self.structure.unflatten(self.leaves)

    @property
    def row_bytes(self) -> int | None:
        """The bytes of one element, where the spec alone tells."""
        sizes = [leaf.row_bytes for leaf in self.leaves]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spec) and self.structure == other.structure and self.leaves == other.leaves

    def __hash__(self) -> int:
        return hash((self.structure, self.leaves))

    def __repr__(self) -> str:
        return f"Spec({self.nest()!r})"


def common_of(specs: Sequence[TensorSpec]) -> TensorSpec:
    """The narrowest spec over all of these, at least one; that of objects where the dtypes differ."""
    common: TensorSpec | None = specs[0]
    for other in specs[1:]:
        common = common.common(other) if common is not None else None
    return common if common is not None else TensorSpec(None, OBJECT)


def spec_of(leaf: Any) -> TensorSpec:
    """The spec of a leaf that is at hand."""
    if isinstance(leaf, np.ndarray):
        if leaf.dtype == OBJECT and leaf.size:
            kinds = {type(item) for item in leaf.flat}
            if kinds <= {bytes, np.bytes_}:
                return TensorSpec(leaf.shape, BYTES)
            if kinds <= {str, np.str_}:
                return TensorSpec(leaf.shape, TEXT)
        return TensorSpec(leaf.shape, leaf.dtype)
    if isinstance(leaf, bytes):
        return TensorSpec((), BYTES)
    if isinstance(leaf, str):
        return TensorSpec((), TEXT)
    if isinstance(leaf, np.generic | bool | int | float | complex):
        return TensorSpec((), np.asarray(leaf).dtype)
    if isinstance(leaf, Ragged):
        return TensorSpec(leaf.shape, spec_of(leaf.flat_values).dtype)
    return TensorSpec((), OBJECT)


def dtype_name(dtype: np.dtype[Any]) -> str:
    """How a dtype is written in a message."""
    if dtype == BYTES:
        return "bytes"
    if dtype == TEXT:
        return "str"
    return str(dtype)
