"""A user's function compiled by Numba, and called for all rows in a loop that lets go of the GIL."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.columns import DenseColumn
from penstock.blocks.structure import Structure, structure_of
from penstock.errors import ArgumentError
from penstock.functions.frozen import frozen
from penstock.functions.function import UserFunction
from penstock.functions.plain_rows import Outcome
from penstock.kernels.spans import Empty

NUMBERS = "biufc"
"""The kinds of dtype that it takes and gives."""
KEPT = 64
"""So many compiled functions and loops are kept for the next run."""


class JittedRows:
    """Calls of the compiled function, for elements that are numbers, arrays, or tuples of them."""

    def __init__(
        self, functions: Sequence[UserFunction], empty: Empty, compiled: dict[Hashable, Any] | None = None
    ) -> None:
        """`compiled` is what earlier runs have compiled."""
        self._function = functions[-1]
        self._empty = empty
        self._loops: dict[Hashable, _Loop] = {}
        self._frozen = frozen(self._function.function)
        self._compiled = {} if compiled is None or self._frozen is None else compiled

    def apply(self, block: Block, numbers: NDArray[np.int64], room: int) -> Outcome:
        """As `PlainRows.apply`."""
        arrays = self._arrays(block)
        signature = (
            block.structure,
            tuple((array.dtype, array.shape[1:], array.flags.writeable) for array in arrays),
        )
        loop = self._loops.get(signature)
        if loop is None:
            try:
                loop = self._loops[signature] = self._loop_for(arrays)
            except _FirstFailed as first:
                return Outcome(None, 1, self._function.failed(first.error, int(numbers[0])))
        rows = min(block.rows, max(1, room // max(loop.row_bytes, 1)))
        out = [self._empty((rows, *shape), dtype) for dtype, shape in loop.leaves]
        at = np.zeros(1, np.int64)
        error = None
        try:
            loop.run(rows, at, *[array[:rows] for array in arrays], *out)
            done = used = rows
        except Exception as failed:
            done, used = int(at[0]), int(at[0]) + 1
            error = self._function.failed(failed, int(numbers[done]))
        if not done:
            return Outcome(None, used, error)
        made = Block(loop.structure, [DenseColumn(array[:done]) for array in out], done)
        if block.numbers is not None:
            made.numbers = numbers[:done]
        return Outcome(made, used, error)

    def _arrays(self, block: Block) -> list[NDArray[Any]]:
        structure = block.structure
        flat = structure.is_leaf or (
            structure.kind is tuple and all(child.is_leaf for child in structure.children)
        )
        arrays = [column.array for column in block.columns if isinstance(column, DenseColumn)]
        if not flat or len(arrays) < len(block.columns) or any(a.dtype.kind not in NUMBERS for a in arrays):
            raise ArgumentError(
                f"{self._function.where}: executor='jit' expects elements that are numbers, arrays of one "
                f"shape, or tuples of them; got {block.spec()}. Use executor='auto'."
            )
        return arrays

    def _loop_for(self, arrays: list[NDArray[Any]]) -> _Loop:
        from numba.core import types
        from numba.np.numpy_support import as_dtype

        row = [array[0] for array in arrays]
        compiled, taken = self._function_for(row)
        returned = compiled.overloads[taken].signature.return_type
        several = isinstance(returned, types.BaseTuple)
        dtypes = []
        for kind in returned if several else [returned]:
            scalar = kind.dtype if isinstance(kind, types.Array) else kind
            if not isinstance(scalar, types.Number | types.Boolean):
                raise self._refused(f"it returns {kind}, which is no number and no array of numbers")
            dtypes.append(as_dtype(scalar))
        try:
            result = compiled(*row)
        except Exception as error:
            raise _FirstFailed(error) from None
        made = structure_of(result)
        leaves = list(zip(dtypes, map(np.shape, result if several else [result]), strict=True))
        key = self._frozen, taken, made, tuple(leaves)
        loop = self._compiled.get(key)
        if loop is None:
            numba: Any = importlib.import_module("numba")
            loop = self._compiled[key] = numba.njit(nogil=True)(_written(compiled, len(arrays), made, leaves))
        row_bytes = sum(dtype.itemsize * int(np.prod(shape, dtype=np.int64)) for dtype, shape in leaves)
        return _Loop(made, leaves, loop, row_bytes)

    def _function_for(self, row: list[Any]) -> tuple[Any, tuple[Any, ...]]:
        """The compiled function, and the types of its arguments."""
        numba: Any = importlib.import_module("numba")
        types = tuple(numba.typeof(leaf) for leaf in row)
        compiled = self._compiled.get((self._frozen, types))
        if compiled is None:
            function: Any = self._function.function
            try:
                compiled = function if hasattr(function, "py_func") else numba.njit(nogil=True)(function)
                compiled.compile(types)
            except Exception as refused:  # not all of its refusals are of one class
                raise self._refused(str(refused) or type(refused).__name__) from None
            if len(self._compiled) >= KEPT:
                self._compiled.clear()
            self._compiled[self._frozen, types] = compiled
        return compiled, types

    def _refused(self, why: str) -> ArgumentError:
        said = " ".join(why.split())
        return ArgumentError(
            f"{self._function.where}: executor='jit' asks Numba to compile the function, which it cannot: "
            f"{said[:600]}. Use executor='auto'."
        )


class _FirstFailed(Exception):  # noqa: N818
    """The function failed for the row with which it was tried."""

    def __init__(self, error: Exception) -> None:
        self.error = error


@dataclass(frozen=True)
class _Loop:
    """The compiled loop for rows of one kind, and what it gives."""

    structure: Structure
    leaves: list[tuple[np.dtype[Any], tuple[int, ...]]]
    run: Callable[..., None]
    row_bytes: int


def _written(
    compiled: Any, inputs: int, made: Structure, leaves: list[tuple[np.dtype[Any], tuple[int, ...]]]
) -> Callable[..., None]:
    """The loop over rows, written out for so many columns: Numba has no others."""
    names = [f"a{k}" for k in range(inputs)] + [f"b{k}" for k in range(len(leaves))]
    arguments = ", ".join(f"a{k}[i]" for k in range(inputs))
    lines = [f"def loop(rows, at, {', '.join(names)}):", " for i in range(rows):", "  at[0] = i"]
    lines.append(f"  r = function({arguments})")
    for k, (_, shape) in enumerate(leaves):
        part = "r" if made.is_leaf else f"r[{k}]"
        if shape:
            lines.append(f"  if {part}.shape != b{k}[i].shape:")
            lines.append("   raise ValueError('the result has another shape than the first one')")
        lines.append(f"  b{k}[i] = {part}")
    namespace: dict[str, Any] = {"function": compiled}
    exec("\n".join(lines), namespace)
    loop: Callable[..., None] = namespace["loop"]
    return loop
