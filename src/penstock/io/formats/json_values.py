"""The values of JSON lines as rows of columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np

from penstock.blocks.build import LeafError, as_leaf, check_text, column_of
from penstock.blocks.columns import Column, DenseColumn
from penstock.blocks.spec import BYTES, OBJECT, TEXT, Spec, TensorSpec, dtype_name
from penstock.blocks.structure import Structure, structure_of

KINDS = {"b": "b", "i": "iu", "u": "iu", "f": "iuf", "c": "iufc", "U": "U", "S": "U"}
"""For each kind of dtype, those of JSON that become it without loss."""
DTYPES = {int: np.int64, float: np.float64, bool: np.bool_}
"""What values are where there is no spec."""
SOURCES: dict[str, set[type]] = {"b": {bool}, "i": {int}, "u": {int}, "f": {int, float}}
"""The types of which many values become a dtype at once."""


class JsonShape:
    """The structure of all elements: that of a spec, or of the first one that comes."""

    def __init__(self, fields: tuple[str, ...] | None, spec: Spec | None) -> None:
        self._fields = fields
        self._spec = spec
        self.structure: Structure | None = None
        self._paths: list[str] = []
        self._shape: Any = None
        self._flat: Callable[[Any], tuple[Any, ...]] | None = None
        """The leaves of an object without others in it, if all of them are so."""
        if spec is not None:
            self._settle(spec.structure)

    def _settle(self, structure: Structure) -> None:
        self.structure = structure
        self._paths = structure.paths()
        self._shape = structure.unflatten(self._paths)
        if (
            structure.kind is dict
            and len(structure.keys) > 1
            and all(one.is_leaf for one in structure.children)
        ):
            self._flat = itemgetter(*structure.keys)

    def leaves(self, value: Any) -> list[Any]:
        """The leaves of the value of a line, as they are; `ValueError` says why it has others."""
        if self.structure is None:
            if self._fields is not None:
                value = _only(self._fields, value)
            self._settle(structure_of(value, top=False))
        if self._flat is not None and type(value) is dict:
            try:
                quick = self._flat(value)
            except KeyError:
                quick = ({},)
            if dict not in map(type, quick):
                return list(quick)
        found: list[Any] = []
        _flatten(value, self._shape, found)
        return found

    def errors(self, rows: Mapping[int, list[Any]]) -> dict[int, ValueError]:
        """Why rows cannot be made, by number: those with a leaf of another type than its spec."""
        found: dict[int, ValueError] = {}
        specs = () if self._spec is None else self._spec.leaves
        for i, leaves in rows.items():
            if not all(map(_is_plain, leaves, specs)):
                try:
                    self.row(leaves)
                except ValueError as error:
                    found[i] = error.with_traceback(None)
        return found

    def columns(self, rows: Sequence[list[Any]]) -> list[Column] | None:
        """The columns of these leaves, made all at once; None where that cannot be done."""
        if not rows:
            return None
        out = []
        for i, values in enumerate(zip(*rows, strict=True)):
            column = _column(values, None if self._spec is None else self._spec.leaves[i])
            if column is None:
                return None
            out.append(column)
        return out

    def row(self, leaves: list[Any]) -> list[Any]:
        """The leaves of one element, made one by one; `ValueError` says why they cannot be."""
        try:
            if self._spec is None:
                return [as_leaf(leaf) for leaf in leaves]
            triples = zip(leaves, self._spec.leaves, self._paths, strict=True)
            return [_converted(leaf, wanted, path) for leaf, wanted, path in triples]
        except LeafError as error:
            raise ValueError(f"expected values that fit in arrays, got {error}") from None


def _only(fields: tuple[str, ...], value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"expected an object with the fields {', '.join(fields)}, got {short(value)}")
    return {name: _field(value, name) for name in fields}


def _flatten(value: Any, shape: Any, found: list[Any]) -> None:
    """Collect the leaves of `value`, where `shape` has their paths."""
    if not isinstance(shape, dict):
        if isinstance(value, dict):
            raise ValueError(f"expected no object at element{shape}, got {short(value)}")
        found.append(value)
        return
    if not isinstance(value, dict):
        raise ValueError(f"expected an object with the fields {', '.join(shape)}, got {short(value)}")
    for name, part in shape.items():
        _flatten(_field(value, name), part, found)


def _field(value: dict[str, Any], name: str) -> Any:
    try:
        return value[name]
    except KeyError:
        raise ValueError(f"expected the field {name!r}, got {short(value)} without it") from None


def _column(values: tuple[Any, ...], wanted: TensorSpec | None) -> Column | None:
    """The column of these values if they are scalars of one type, or flat lists of them of one length."""
    kinds = set(map(type, values))
    size = 0
    if kinds == {list}:
        size = len(values[0])
        if not size or any(len(value) != size for value in values):
            return None
        kinds = set(map(type, chain.from_iterable(values)))
    if wanted is not None and not _fits(wanted, (size,) if size else ()):
        return None
    if kinds == {str}:
        return None if size else _texts(values, wanted)
    try:
        if wanted is None:
            dtype: Any = DTYPES.get(kinds.pop()) if len(kinds) == 1 else None
            return None if dtype is None else DenseColumn(np.array(values, dtype))
        if not kinds <= SOURCES.get(wanted.dtype.kind, set()):
            return None
        with np.errstate(over="ignore"):
            return DenseColumn(np.array(values, wanted.dtype))
    except OverflowError:
        return None


def _is_plain(value: Any, wanted: TensorSpec) -> bool:
    """Whether a value is of a type that becomes its leaf, as far as is seen at a glance."""
    types = SOURCES.get(wanted.dtype.kind)
    if wanted.shape == ():
        return type(value) in types if types else wanted.dtype == OBJECT or type(value) is str
    if wanted.shape is None or len(wanted.shape) > 1 or not types:
        return True
    size = wanted.shape[0]
    return type(value) is list and size in (None, len(value)) and types.issuperset(map(type, value))


def _fits(wanted: TensorSpec, shape: tuple[int, ...]) -> bool:
    return wanted.covers(TensorSpec(shape, wanted.dtype))


def _texts(values: tuple[str, ...], wanted: TensorSpec | None) -> Column | None:
    try:
        check_text(values)
    except LeafError:
        return None
    if wanted is None or wanted.dtype == TEXT:
        return column_of(values)
    return column_of([value.encode() for value in values]) if wanted.dtype == BYTES else None


def _converted(value: Any, wanted: TensorSpec, path: str) -> Any:
    """The value of a leaf as its spec says, if nothing is lost by it."""
    if wanted.dtype == OBJECT:
        return as_leaf(value)
    try:
        given = np.asarray(value)
        if given.size and given.dtype.kind not in KINDS.get(wanted.dtype.kind, ""):
            raise TypeError
        if wanted.dtype in (BYTES, TEXT):
            made = as_leaf(_strings(value, given.shape, encode=wanted.dtype == BYTES))
        else:
            with np.errstate(over="ignore"):
                made = given.astype(wanted.dtype)[()]
            if wanted.dtype.kind in "iu" and (made != given).any():
                raise OverflowError
        if not wanted.accepts(made):
            raise TypeError
    except (OverflowError, TypeError, ValueError) as error:
        if isinstance(error, LeafError):
            raise
        why = f" ({error})" if type(error) is ValueError else ""
        raise ValueError(
            f"expected {dtype_name(wanted.dtype)} of shape {wanted.shape} at element{path}, "
            f"got {short(value)}{why}"
        ) from None
    return made


def _strings(value: Any, shape: tuple[int, ...], *, encode: bool) -> Any:
    """Texts in lists, as an array of them; and not by way of one of NumPy's, which drops zeros."""
    flat = [value]
    for _ in shape:
        flat = list(chain.from_iterable(flat))
    check_text(flat)
    out = np.empty(shape, object)
    out.ravel()[:] = [text.encode() for text in flat] if encode else flat
    return out


def short(value: Any) -> str:
    """A value for a message."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
