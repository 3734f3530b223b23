"""What `padded_batch` pads to and with: its arguments read, and rows laid into padded arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.columns import BytesColumn, Column, DenseColumn, RaggedColumn
from penstock.blocks.spec import BYTES, OBJECT, TEXT, TensorSpec, dtype_name, spec_of
from penstock.blocks.structure import Structure, structure_of
from penstock.kernels.padding import fill_padded

Shape = tuple[int | None, ...]


def read_shapes(padded_shapes: Any, structure: Structure) -> list[Shape | None]:
    """The padded shape of every leaf, None where nothing is said; TypeError, ValueError."""
    if padded_shapes is None:
        return [None] * structure.leaves
    return list(_shapes(padded_shapes, structure))


def _shapes(said: Any, structure: Structure) -> list[Shape | None]:
    if structure.is_leaf:
        return [_shape(said)]
    if structure.kind is dict:
        if not isinstance(said, dict) or set(said) != set(structure.keys):
            raise TypeError(f"expected a dict of shapes with the keys {list(structure.keys)}, got {said!r}")
        parts: Sequence[Any] = [said[key] for key in structure.keys]
    else:
        if not isinstance(said, tuple | list) or len(said) != len(structure.children):
            raise TypeError(f"expected a tuple of {len(structure.children)} shapes, got {said!r}")
        parts = said
    pairs = zip(parts, structure.children, strict=True)
    return [shape for part, child in pairs for shape in _shapes(part, child)]


def _shape(said: Any) -> Shape | None:
    if said is None:
        return None
    if isinstance(said, int | np.integer) and not isinstance(said, bool):
        said = (said,)
    if not isinstance(said, tuple | list | np.ndarray):
        raise TypeError(f"expected a shape such as [None, 3], got {said!r}")
    sizes: list[int | None] = []
    for size in said:
        if size is None or size == -1:
            sizes.append(None)
        elif isinstance(size, int | np.integer) and not isinstance(size, bool) and size >= 0:
            sizes.append(int(size))
        else:
            raise ValueError(f"expected sizes, None or -1 in a shape, got {size!r} in {said!r}")
    return tuple(sizes)


def read_values(padding_values: Any, structure: Structure) -> list[Any]:
    """The padding value of every leaf, None for the default; one value stands for all leaves."""
    if structure_of(padding_values).is_leaf:
        return [padding_values] * structure.leaves
    return structure.flatten(padding_values)


def check_shape(shape: Shape | None, spec: TensorSpec, path: str) -> None:
    """Raise ValueError where no leaf of that spec can be padded to `shape`."""
    if shape is None or spec.shape is None:
        return
    pairs = zip(shape, spec.shape, strict=False)
    if len(shape) == len(spec.shape) and all(a is None or b is None or a >= b for a, b in pairs):
        return
    raise ValueError(f"element{path} has the shape {spec.shape}, which does not fit into {shape}")


def check_value(value: Any, dtype: np.dtype[Any], path: str) -> Any:
    """The padding value as a scalar of the leaf's dtype; TypeError where it is none."""
    if dtype in (BYTES, TEXT) or dtype.kind in "SU":
        kind: type = str if dtype.kind == "U" else bytes
        if value is None:
            return kind()
        if not isinstance(value, kind):
            raise TypeError(_mismatch(value, dtype, path))
        return kind(value)
    if value is None:
        if dtype == OBJECT:
            return None
        return dtype.type(0) if dtype.kind in "biufc" else np.zeros((), dtype)[()]
    if isinstance(value, np.ndarray | np.generic):
        if value.shape != () or value.dtype != dtype:
            raise TypeError(_mismatch(value, dtype, path))
        return np.asarray(value)[()]
    kinds = {bool: "b", int: "iufc", float: "fc", complex: "c"}
    if type(value) not in kinds or dtype.kind not in kinds[type(value)]:
        raise TypeError(_mismatch(value, dtype, path))
    try:
        return np.array(value, dtype)[()]
    except OverflowError as error:
        raise TypeError(_mismatch(value, dtype, path)) from error


def _mismatch(value: Any, dtype: np.dtype[Any], path: str) -> str:
    came = f" of dtype {dtype_name(value.dtype)}" if isinstance(value, np.generic | np.ndarray) else ""
    return f"element{path} is {dtype_name(dtype)}, which {value!r}{came} cannot pad"


def check_scalar(value: Any, path: str) -> None:
    """Raise TypeError where a padding value can be none for any dtype."""
    spec = spec_of(value)
    if value is not None and (spec.shape != () or spec.dtype.kind == "O"):
        raise TypeError(f"expected a scalar to pad element{path} with, got {value!r}")


def dtypes_of(column: Column) -> set[np.dtype[Any]]:
    """The dtypes of the rows of a column. Arrays of no strings tell none: they are strings of either kind."""
    if isinstance(column, DenseColumn):
        return {column.array.dtype}
    if isinstance(column, RaggedColumn):
        return {column.values.dtype}
    if isinstance(column, BytesColumn):
        return {TEXT if column.text else BYTES}
    empty = TensorSpec(None, OBJECT)
    specs = [(item, spec_of(item)) for item in column.items()]
    return {spec.dtype for item, spec in specs if not (empty.covers(spec) and np.size(item) == 0)}


def longest_of(column: Column) -> tuple[int, ...]:
    """The most that any row has in each axis; TypeError where rows have no one rank."""
    if isinstance(column, DenseColumn):
        return column.array.shape[1:]
    if isinstance(column, BytesColumn):
        return column.shape
    return tuple(shapes_of(column).max(axis=0).tolist())


def shapes_of(column: Column) -> NDArray[np.int64]:
    """The shape of every row, or one row for all of them; TypeError where rows have no one rank."""
    if isinstance(column, DenseColumn):
        return np.array([column.array.shape[1:]], np.int64)
    if isinstance(column, RaggedColumn):
        return column.shapes
    if isinstance(column, BytesColumn):
        return np.array([column.shape], np.int64)
    items = column.items()
    shapes = [item.shape if isinstance(item, np.ndarray) else spec_of(item).shape for item in items]
    if any(shape is None or None in shape for shape in shapes):
        raise TypeError("expected arrays, got a Ragged, whose rows have no one length")
    ranks = sorted({len(shape) for shape in shapes if shape is not None})
    if len(ranks) > 1:
        raise TypeError(f"expected elements of one rank, got the ranks {ranks}")
    return np.array(shapes, np.int64)


def lay(column: Column, out: NDArray[Any], padding: Any) -> None:
    """Write the rows of a column into `out`, one a row, padded; every row fits."""
    if isinstance(column, DenseColumn):
        _lay_equal(column.array, out, padding)
        return
    if isinstance(column, RaggedColumn):
        shapes, inner = column.shapes, out.shape[2:]
        if out.ndim > 1 and (shapes[:, 1:] == np.array(inner, np.int64)).all():
            # Only the first axis varies: rows of whole items, however many axes those have.
            flat = out.reshape(len(out), -1)
            fill_padded(column.values, column.offsets, flat, padding)
            return
    out[...] = padding
    for row, item in enumerate(column.items()):
        place: tuple[Any, ...] = (row, *(slice(size) for size in np.shape(item)))
        out[place] = item


def _lay_equal(array: NDArray[Any], out: NDArray[Any], padding: Any) -> None:
    if array.shape != out.shape:
        out[...] = padding
    out[tuple(slice(size) for size in array.shape)] = array
