"""The structure and the spec of elements in a state, where words tell them."""

from __future__ import annotations

from typing import Any

from penstock.blocks.spec import Spec, TensorSpec
from penstock.blocks.structure import Structure
from penstock.io.formats.saved_structure import (
    NotSaved,
    dtype_of,
    said_of_dtype,
    said_of_structure,
    structure_of_said,
)


def said_structure(structure: Structure) -> Any:
    """A structure as plain data; None for one with a class of the user's, or with keys that have none."""
    if not _plain(structure):
        return None
    try:
        return said_of_structure(structure)
    except NotSaved:
        return None


def _plain(structure: Structure) -> bool:
    own_kind = structure.is_leaf or structure.kind in (dict, tuple)
    return own_kind and all(map(_plain, structure.children))


def known_structure(said: Any) -> Structure | None:
    """The structure that was said so."""
    return None if said is None else structure_of_said(said)


def said_spec(spec: Spec) -> Any:
    """A spec as plain data; None where its structure or a dtype has none."""
    structure = said_structure(spec.structure)
    try:
        leaves = [[said_of_dtype(leaf.dtype), leaf.shape] for leaf in spec.leaves]
    except NotSaved:
        return None
    return None if structure is None else [structure, leaves]


def known_spec(said: Any) -> Spec | None:
    """The spec that was said so."""
    if said is None:
        return None
    structure, leaves = said
    return Spec(
        structure_of_said(structure),
        [TensorSpec(None if shape is None else tuple(shape), dtype_of(dtype)) for dtype, shape in leaves],
    )
