"""What Arrow's types are in NumPy: the spec of a table's rows.

Loads pyarrow: import this module only inside the function that needs it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
from pyarrow import types as kinds

from penstock.blocks.spec import BYTES, TEXT, Spec, TensorSpec
from penstock.blocks.structure import LEAF, Structure


class ColumnTypeError(TypeError):
    """A column whose type has no form in NumPy, or a fill that does not fit it."""


def spec_of(schema: Any) -> Spec:
    """The spec of the rows of a table of this schema: a dict with one entry a column."""
    names = schema.names
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ColumnTypeError(f"the columns {twice} are there more than once")
    return _dict_of([(field.name, _spec(field.type, field.name)) for field in schema])


def _dict_of(parts: list[tuple[str, Spec]]) -> Spec:
    structure = Structure(dict, tuple(name for name, _ in parts), tuple(spec.structure for _, spec in parts))
    return Spec(structure, [leaf for _, spec in parts for leaf in spec.leaves])


def _spec(arrow: Any, path: str) -> Spec:
    arrow = plain_type(arrow)
    if is_tensor(arrow):
        item = _spec(arrow.value_type, path).leaves[0]
        return Spec(LEAF, [TensorSpec(tensor_shape(arrow), item.dtype)])
    if kinds.is_map(arrow):
        parts = [("key", arrow.key_type), ("value", arrow.item_type)]
        items = _dict_of([(name, _spec(part, f"{path}.{name}")) for name, part in parts])
        return _listed(items, None, path)
    if is_list(arrow):
        size = arrow.list_size if kinds.is_fixed_size_list(arrow) else None
        return _listed(_spec(arrow.value_type, f"{path}.item"), size, path)
    if kinds.is_struct(arrow):
        fields = [arrow.field(i) for i in range(arrow.num_fields)]
        return _dict_of([(field.name, _spec(field.type, f"{path}.{field.name}")) for field in fields])
    return Spec(LEAF, [TensorSpec((), dtype_of(arrow, path))])


def _listed(items: Spec, size: int | None, path: str) -> Spec:
    """The spec of lists of such items; of structs, it is a dict of lists."""
    for leaf in items.leaves:
        if leaf.dtype in (BYTES, TEXT) and None in (leaf.shape or ()):
            raise ColumnTypeError(f"column {path!r} has lists of lists of strings, which are no arrays")
    return Spec(items.structure, [leaf.batched(size) for leaf in items.leaves])


def plain_type(arrow: Any) -> Any:
    """The type that a column is read as: without dictionaries, run lengths and names of its own."""
    if kinds.is_dictionary(arrow) or kinds.is_run_end_encoded(arrow):
        return plain_type(arrow.value_type)
    if isinstance(arrow, pa.BaseExtensionType) and not is_tensor(arrow):
        return plain_type(arrow.storage_type)
    return arrow


def is_tensor(arrow: Any) -> bool:
    """Whether every row is an array of one shape."""
    return isinstance(arrow, pa.FixedShapeTensorType)


def tensor_shape(arrow: Any) -> tuple[int, ...]:
    """The shape of a tensor's rows as it is meant: the axes may be stored in another order."""
    order = arrow.permutation or range(len(arrow.shape))
    return tuple(arrow.shape[axis] for axis in order)


def is_list(arrow: Any) -> bool:
    """Whether every row is a list, of any kind but a map."""
    return any(
        test(arrow)
        for test in (
            kinds.is_list,
            kinds.is_large_list,
            kinds.is_fixed_size_list,
            kinds.is_list_view,
            kinds.is_large_list_view,
        )
    )


def is_text(arrow: Any) -> bool:
    """Whether every row is a text."""
    return bool(kinds.is_string(arrow) or kinds.is_large_string(arrow) or kinds.is_string_view(arrow))


def is_binary(arrow: Any) -> bool:
    """Whether every row is bytes."""
    varied = kinds.is_binary(arrow) or kinds.is_large_binary(arrow) or kinds.is_binary_view(arrow)
    return bool(varied or (kinds.is_fixed_size_binary(arrow) and not kinds.is_decimal(arrow)))


def dtype_of(arrow: Any, path: str) -> np.dtype[Any]:
    """The dtype of a column of single values. `ColumnTypeError` where it has none."""
    if is_text(arrow):
        return TEXT
    if is_binary(arrow):
        return BYTES
    if kinds.is_integer(arrow) or kinds.is_floating(arrow) or kinds.is_boolean(arrow):
        plain: np.dtype[Any] = np.dtype(arrow.to_pandas_dtype())
        return plain
    if kinds.is_decimal(arrow):
        return np.dtype(np.float64)
    if kinds.is_date(arrow):
        return np.dtype("datetime64[D]" if kinds.is_date32(arrow) else "datetime64[ms]")
    if kinds.is_timestamp(arrow):
        return np.dtype(f"datetime64[{arrow.unit}]")
    if kinds.is_time(arrow) or kinds.is_duration(arrow):
        return np.dtype(f"timedelta64[{arrow.unit}]")
    raise ColumnTypeError(f"column {path!r} has the type {arrow}, which has no form in NumPy")
