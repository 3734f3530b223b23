"""A signature that a user gives, and elements made to agree with it."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.blocks.build import NUMBERS, LeafError, as_leaf
from penstock.blocks.spec import BYTES, OBJECT, TEXT, Spec, TensorSpec, dtype_name, spec_of
from penstock.blocks.structure import structure_of
from penstock.errors import ArgumentTypeError, DataError
from penstock.site import user_site


def signature_of(nest: Any, call: str) -> Spec:
    """The spec that a nest of `TensorSpec`s stands for; `call` names the argument."""
    structure = structure_of(nest, top=False)
    leaves = structure.flatten(nest)
    for path, leaf in zip(structure.paths(), leaves, strict=True):
        if not isinstance(leaf, TensorSpec):
            raise ArgumentTypeError(
                f"{call} at {user_site()}: expected dicts and tuples of ps.TensorSpec, got {leaf!r}"
                f"{f' at {path}' if path else ''}."
            )
    return Spec(structure, leaves)


def converted(element: Any, spec: Spec, label: str, number: int, where: str) -> list[Any]:
    """The leaves of an element, converted to the dtypes of a spec and of its shapes."""
    try:
        leaves = spec.structure.flatten(element)
    except TypeError as error:
        raise DataError(
            f"{where}: element {number} does not agree with output_signature: {error}.",
            op=label,
            number=number,
        ) from None
    out = []
    for i, (leaf, wanted) in enumerate(zip(leaves, spec.leaves, strict=True)):
        if type(leaf) in NUMBERS and wanted.shape == ():
            plain = NUMBERS[type(leaf)](leaf)
            if type(plain) is wanted.dtype.type:
                out.append(plain)
                continue
        elif agrees(leaf, wanted):
            out.append(leaf)
            continue
        path = spec.structure.paths()[i]
        try:
            made = as_leaf(_converted(leaf, wanted))
        except LeafError as error:
            message = f"{where}: element {number} has {error}."
            raise DataError(message, op=label, number=number) from None
        except (TypeError, ValueError, OverflowError) as error:
            raise _wrong(leaf, wanted, path, label, number, where, f" ({error})") from None
        if not wanted.accepts(made):
            raise _wrong(leaf, wanted, path, label, number, where, "")
        out.append(made)
    return out


def agrees(leaf: Any, wanted: TensorSpec) -> bool:
    """Whether a leaf of numbers is as the signature says, seen at a glance."""
    is_array = type(leaf) is np.ndarray
    if not is_array and not isinstance(leaf, np.number | np.bool_):
        return type(leaf) is bytes and wanted.dtype == BYTES and wanted.shape in ((), None)
    dtype, shape, its = leaf.dtype, wanted.shape, leaf.shape
    if dtype != wanted.dtype or dtype.kind not in "biufc":
        return False
    if its == shape:
        return not is_array or shape != ()
    if not shape or len(shape) != len(its):
        return False
    for size, one in zip(shape, its):  # noqa: B905, SIM110  (as quick as can be, for each element)
        if size is not None and size != one:
            return False
    return True


def _converted(leaf: Any, wanted: TensorSpec) -> Any:
    if isinstance(leaf, np.ma.MaskedArray) or wanted.dtype == OBJECT:
        return leaf  # `as_leaf` refuses masks
    if wanted.dtype not in (BYTES, TEXT):
        return np.asarray(leaf, wanted.dtype)[()]
    if isinstance(leaf, bytes | str):
        return _string(leaf, wanted.dtype)
    given = np.asarray(leaf)
    out = np.empty(given.shape, object)
    out.ravel()[:] = [_string(item, wanted.dtype) for item in given.ravel().tolist()]
    return out if given.ndim else out[()]


def _string(value: Any, dtype: np.dtype[Any]) -> Any:
    if not isinstance(value, bytes | str):
        raise TypeError(f"{value!r} is no string")
    if dtype == BYTES:
        return value.encode() if isinstance(value, str) else bytes(value)
    return value.decode() if isinstance(value, bytes) else str(value)


def _wrong(
    leaf: Any, wanted: TensorSpec, path: str, label: str, number: int, where: str, why: str
) -> DataError:
    came = spec_of(leaf if isinstance(leaf, bytes | str | np.generic) else np.asarray(leaf, object))
    if isinstance(leaf, np.ndarray):
        came = spec_of(leaf)
    return DataError(
        f"{where}: element {number} does not agree with output_signature: expected {_show(wanted)} "
        f"at element{path}, got {_show(came)}{why}. Yield what the signature says, or change it.",
        op=label,
        number=number,
    )


def _show(spec: TensorSpec) -> str:
    return f"{dtype_name(spec.dtype)} of shape {spec.shape}"
