"""`Dataset.from_tensor_slices`: the rows of arrays, never copied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.build import LeafError, as_leaf, column_of_array
from penstock.blocks.columns import Column, DenseColumn
from penstock.blocks.picked import Picked
from penstock.blocks.spec import OBJECT, Spec, TensorSpec, common_of, spec_of
from penstock.blocks.structure import Structure, structure_of
from penstock.errors import ArgumentError, ArgumentTypeError
from penstock.graph.fingerprint import UNSEEN
from penstock.graph.op import Op, Traits
from penstock.graph.running import Context, Pipeline, Running
from penstock.kernels import loading
from penstock.ops.parts.declared import DeclaredArrays
from penstock.site import user_site


@dataclass(frozen=True, eq=False, kw_only=True)
class FromTensorSlices(Op):
    """The rows of arrays along their first axis."""

    structure: Structure = field(repr=False)
    tensors: tuple[NDArray[Any], ...] = field(repr=False)
    born: float = field(default_factory=perf_counter, repr=False, metadata=UNSEEN)
    """When it was declared: inside a run, its arrays may be that run's."""

    name = "from_tensor_slices"
    traits = Traits(random_access=True)

    @classmethod
    def of(cls, tensors: Any) -> FromTensorSlices:
        """The op of a user's nest of arrays."""
        structure = structure_of(tensors, top=False)
        arrays = []
        for path, leaf in zip(structure.paths(), structure.flatten(tensors), strict=True):
            try:
                arrays.append(_array(leaf))
            except LeafError as error:
                raise ArgumentTypeError(f"{cls.name} at {user_site()}: element{path} is {error}.") from None
        return cls(structure=structure, tensors=tuple(arrays))

    def __post_init__(self) -> None:
        if not self.tensors:
            raise ArgumentTypeError(self.fail("expected at least one array, got none."))
        paths = self.structure.paths()
        sizes = {}
        for path, array in zip(paths, self.tensors, strict=True):
            if array.ndim == 0:
                raise ArgumentTypeError(
                    self.fail(
                        f"expected arrays with a first axis to slice, got the scalar {array!r} "
                        f"at element{path}. Use from_tensors for one element."
                    )
                )
            sizes[f"element{path}"] = len(array)
        if len(set(sizes.values())) > 1:
            raise ArgumentError(
                self.fail(f"expected arrays of one length, got {sizes}. Cut them to the same length.")
            )

    def start(self, context: Context) -> Running:
        return RunningSlices(self, context)

    def find_spec(self) -> Spec | None:
        return Spec(self.structure, [_row_spec(array) for array in self.tensors])

    def find_cardinality(self) -> int:
        return len(self.tensors[0])

    def describe(self) -> str:
        shapes = ", ".join(f"{array.dtype}{list(array.shape)}" for array in self.tensors)
        return f"from_tensor_slices({shapes})"


def _row_spec(array: NDArray[Any]) -> TensorSpec:
    """What every row of an array agrees with; of objects, all are looked at."""
    if array.dtype == OBJECT and len(array):
        return common_of([spec_of(leaf) for leaf in _leaves(array)])
    if array.dtype.kind in "SUO" and not len(array):
        return TensorSpec(array.shape[1:], array.dtype)
    return column_of_array(array[:1]).spec()


def _leaves(array: NDArray[Any]) -> Iterable[Any]:
    """The rows of an array of objects; of strings of one kind, the first stands for all."""
    kinds = set(map(type, array.flat))
    return map(as_leaf, array[:1] if kinds == {bytes} or kinds == {str} else array)


def _array(value: Any) -> NDArray[Any]:
    """What is to be sliced, as an array; `LeafError` if it cannot be one."""
    if isinstance(value, Pipeline):
        raise LeafError(f"a dataset already, {value!r}: use it as it is")
    if isinstance(value, Iterator):
        raise LeafError(
            f"an iterator, {value!r}, not an array: use from_generator, with the function that makes it"
        )
    if isinstance(value, list) and any(isinstance(part, np.ndarray) for part in value):
        shapes = {np.shape(part) for part in value}
        if len(shapes) > 1:
            raise LeafError(
                f"a list of arrays of several shapes, {sorted(shapes)}: to slice them side by side, "
                f"use a tuple (X, Y) instead of the list [X, Y]; for rows of several shapes, from_generator"
            )
    try:
        leaf = as_leaf(value)
    except LeafError as error:
        rows = isinstance(value, list) and "no array of one shape" in str(error)
        raise LeafError(
            f"{error}; for rows of several shapes, from_generator(lambda: rows)" if rows else str(error)
        ) from None
    if not isinstance(leaf, np.ndarray | np.generic | bytes | str):
        what = "None" if leaf is None else f"of the type {type(leaf).__name__}"
        raise LeafError(f"{what}, not an array: give arrays, lists, or dicts and tuples of them")
    array = np.asarray(leaf)
    if array.dtype == OBJECT and array.ndim:
        list(_leaves(array))  # what is no leaf is told now, and not when it comes
    return array


class RunningSlices(Running):
    """Views of the user's arrays, read-only, so that nobody changes the data by accident."""

    exact = True

    def __init__(self, op: FromTensorSlices, context: Context) -> None:
        self._structure = op.structure
        self._empty = context.empty
        self._declared = DeclaredArrays(op.tensors, op.born, context)
        self._arrays = []
        for array in op.tensors:
            view = array.view()
            view.flags.writeable = False
            self._arrays.append(view)
        self._at = 0
        self.size = op.cardinality

    def pull(self, rows: int) -> Block | None:
        rows = min(rows, self.size - self._at)
        if rows <= 0:
            return None
        first = self._at
        self._at += rows
        columns = [column_of_array(array[first : self._at]) for array in self._arrays]
        return Block(self._structure, columns, rows)

    def gather(self, index: NDArray[np.int64]) -> Block:
        regular = _as_slice(index)
        if regular is None:
            columns = [self._gather(array, index) for array in self._arrays]
        else:
            columns = [column_of_array(array[regular]) for array in self._arrays]
        return Block(self._structure, columns, len(index))

    def state(self) -> Any:
        return {"at": self._at}

    def restore(self, state: Any) -> None:
        self._at = state["at"]

    def close(self) -> None:
        self._arrays = []
        self._declared.close()

    def _gather(self, array: NDArray[Any], index: NDArray[np.int64]) -> Column:
        if array.dtype.kind in "SUO" or not array.dtype.isnative:
            return column_of_array(array[index])
        if loading.ready() and array.dtype == np.uint8 and array.ndim > 1:
            return Picked(array, index, self._empty)
        return DenseColumn(array).take(index, self._empty)


def _as_slice(index: NDArray[np.int64]) -> slice | None:
    """Row numbers in even steps upwards as a slice, which copies nothing; None for others."""
    if len(index) == 0:
        return None
    first, last = int(index[0]), int(index[-1])
    step = int(index[1]) - first if len(index) > 1 else 1
    if step < 1 or last - first != step * (len(index) - 1) or (np.diff(index) != step).any():
        return None
    return slice(first, last + 1, step)
