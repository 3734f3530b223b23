"""What a dataset says of itself, and the ends of a pipeline that read elements."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from penstock.blocks.spec import Spec, TensorSpec, spec_of
from penstock.blocks.structure import structure_of
from penstock.errors import ArgumentTypeError, CardinalityError, ElementError
from penstock.graph.op import INFINITE, UNKNOWN, Op

_NOTHING = object()
PATIENCE = 100
"""How many failing elements are passed over to find one that tells the spec."""


def chain(op: Op) -> str:
    """The names of a pipeline's ops, the sources first: `range.map.batch`."""
    if not op.inputs:
        return op.name
    if len(op.inputs) == 1:
        return f"{chain(op.inputs[0])}.{op.name}"
    return f"{op.name}({', '.join(map(chain, op.inputs))})"


def _loader() -> str:
    """What to say to somebody who may have given a dataset to torch's DataLoader."""
    return (
        " A DataLoader of torch takes ds.as_torch(), with batch_size=None." if "torch" in sys.modules else ""
    )


def no_rows_by_number(op: Op) -> ArgumentTypeError:
    """What to tell torch's DataLoader, which takes everything for a list of rows that it does not know."""
    return ArgumentTypeError(
        op.fail(
            "expected to be gone through from its beginning, got asked for rows by their numbers, as "
            "DataLoader(ds) does. Write DataLoader(ds.batch(n).as_torch(), batch_size=None), or go without "
            "a DataLoader: `for batch in ds.batch(n).as_torch()`."
        )
    )


def length(op: Op) -> int:
    """The number of elements, for `len()`."""
    if op.cardinality == INFINITE:
        raise TypeError(
            op.fail(
                f"expected a dataset that ends, to tell its length: take(n) or repeat(n) ends one.{_loader()}"
            )
        )
    if op.cardinality == UNKNOWN:
        raise TypeError(
            op.fail(
                "the length of this dataset is not known before it is read. Say it with "
                f"ds.apply(ps.assert_cardinality(n)), or count: ds.reduce(0, lambda n, _: n + 1).{_loader()}"
            )
        )
    return op.cardinality


def single(elements: Iterator[Any], op: Op) -> Any:
    """The only element; raises where there are none or more."""
    first = next(elements, _NOTHING)
    if first is _NOTHING:
        raise CardinalityError(op.fail("expected exactly one element, got none."))
    if next(elements, _NOTHING) is not _NOTHING:
        raise CardinalityError(op.fail("expected exactly one element, got more."))
    return first


def spec_of_first(elements: Iterator[Any], op: Op) -> Spec:
    """The dtypes and ranks of the first element that does not fail. It tells no sizes: others may differ."""
    failed: list[ElementError] = []
    for element in _sound(elements, failed):
        structure = structure_of(element, top=False)
        return Spec(structure, [_any_size(spec_of(leaf)) for leaf in structure.flatten(element)])
    came = f"but all failed, the first with: {failed[0]}" if failed else "got an empty dataset."
    raise CardinalityError(op.fail(f"expected an element to tell the element_spec from, {came}"))


def _any_size(spec: TensorSpec) -> TensorSpec:
    return TensorSpec(None if spec.shape is None else (None,) * len(spec.shape), spec.dtype)


def _sound(elements: Iterator[Any], failed: list[ElementError]) -> Iterator[Any]:
    """The elements that do not fail, unless too many do; the errors of those that do are put into a list."""
    while True:
        try:
            yield next(elements)
        except StopIteration:
            return
        except ElementError as error:
            failed.append(error)
            if len(failed) == PATIENCE:
                raise
