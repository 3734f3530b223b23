"""The structure and the spec of saved elements, as plain data."""

from __future__ import annotations

import ast
import sys
from collections import namedtuple
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.lib import format as npy_format

from penstock.blocks.extended import extended, is_extended, looks_extended
from penstock.blocks.spec import BYTES, OBJECT, TEXT, Spec, TensorSpec
from penstock.blocks.structure import LEAF, Structure

STRINGS: dict[str, np.dtype[Any]] = {"bytes": BYTES, "str": TEXT}


class NotSaved(TypeError):  # noqa: N818
    """What cannot be saved, and what to do about it."""


def said_of_dtype(dtype: np.dtype[Any]) -> str:
    """A dtype in words; `NotSaved` for one that words do not tell, as those of other libraries."""
    for word, strings in STRINGS.items():
        if dtype == strings:
            return word
    if is_extended(dtype):
        return dtype.name
    said = repr(npy_format.dtype_to_descr(dtype)) if not dtype.hasobject else "object"
    if dtype.hasobject or dtype_of(said) != dtype:
        raise NotSaved(f"a leaf has the dtype {dtype}, which cannot be saved. Map it to one of NumPy's own")
    return said


def dtype_of(said: str) -> np.dtype[Any]:
    """The dtype of these words; ValueError if there is none."""
    if said in STRINGS:
        return STRINGS[said]
    if looks_extended(said):
        return extended(said)
    try:
        dtype: np.dtype[Any] = np.dtype(npy_format.descr_to_dtype(ast.literal_eval(said)))
    except (SyntaxError, TypeError, IndexError, MemoryError, RecursionError) as error:
        raise ValueError(f"{said!r} is no dtype") from error
    if dtype.hasobject:
        raise ValueError(f"{said!r} is a dtype of objects")
    return dtype


def said_of_structure(structure: Structure) -> Any:
    """A structure as lists and strings."""
    if structure.is_leaf:
        return "leaf"
    parts = [said_of_structure(child) for child in structure.children]
    if structure.kind is dict:
        return ["dict", [_said_of_key(key) for key in structure.keys], parts]
    if structure.kind is tuple:
        return ["tuple", [], parts]
    kind: Any = structure.kind
    return ["namedtuple", [kind.__module__, kind.__qualname__, *kind._fields], parts]


def _said_of_key(key: Any) -> str:
    try:
        if ast.literal_eval(repr(key)) == key:
            return repr(key)
    except (ValueError, SyntaxError):
        pass
    raise NotSaved(f"an element has the key {key!r} in a dict, which cannot be saved. Use str or int keys")


def structure_of_said(said: Any) -> Structure:
    """The structure that was said so; ValueError if it is none."""
    if said == "leaf":
        return LEAF
    try:
        what, names, parts = said
        children = tuple(structure_of_said(part) for part in parts)
        if what == "dict" and len(names) == len(parts):
            return Structure(dict, tuple(ast.literal_eval(name) for name in names), children)
        if what == "tuple":
            return Structure(tuple, (), children)
        if what == "namedtuple" and len(names) == len(parts) + 2:
            return Structure(_class_of(*names), (), children)
    except (TypeError, SyntaxError, AttributeError) as error:
        raise ValueError(f"{said!r} is no structure") from error
    raise ValueError(f"{said!r} is no structure")


def _class_of(module: str, name: str, *fields: str) -> type:
    """The class of a named tuple: the user's own where it is loaded, else one with the same fields.

    Nothing is imported for it: a file of data decides nothing about the code that runs.
    """
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if isinstance(found, type) and issubclass(found, tuple) and getattr(found, "_fields", None) == fields:
        return found
    return _made(name.rpartition(".")[2], fields)


@lru_cache(maxsize=256)
def _made(name: str, fields: tuple[str, ...]) -> type:
    return namedtuple(name, fields)


def said_of_leaves(spec: Spec) -> list[Any]:
    """The specs of the leaves as plain data; `NotSaved` where such elements cannot be saved."""
    for path, leaf in zip(spec.structure.paths(), spec.leaves, strict=True):
        if leaf.dtype == OBJECT:
            raise NotSaved(no_objects(f"element{path}", "objects"))
    return [[said_of_dtype(leaf.dtype), leaf.shape] for leaf in spec.leaves]


def leaves_of_said(said: list[Any], structure: Structure) -> list[TensorSpec]:
    """The specs that were said so; ValueError if they are none."""
    leaves = [TensorSpec(shape, dtype_of(dtype)) for dtype, shape in said]
    if len(leaves) != structure.leaves:
        raise ValueError(f"it has {len(leaves)} specs for {structure.leaves} leaves")
    return leaves


def no_objects(where: str, what: str) -> str:
    """Why a leaf cannot be saved, and what to do."""
    return (
        f"{where} has {what}, which cannot be saved. Map it to numbers, arrays, bytes or str: a lack of "
        f"value to a number or b'', a ragged batch to (x.flat_values, x.row_splits), strings of several "
        f"shapes to one string or to arrays of one shape, any other object to pickle.dumps(x)"
    )
