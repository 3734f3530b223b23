"""One `.npy` or `.npz` file: its arrays side by side, as blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.build import column_of_array
from penstock.blocks.columns import Column, DenseColumn
from penstock.blocks.spec import BYTES, TEXT, Spec, TensorSpec
from penstock.blocks.structure import LEAF, Structure
from penstock.errors import DataError
from penstock.graph.running import Context
from penstock.io.formats.indexed import IndexedFile
from penstock.io.formats.npy import FormatError, arrays_in
from penstock.io.formats.npy_rows import ArrayRows, rows_of
from penstock.io.stores.opening import open_stored

Index = NDArray[np.int64]


class ArrayFile(IndexedFile):
    """The rows of a file's arrays: of the one in an `.npy` file, or a dict of those in an `.npz` file."""

    def __init__(self, path: str, context: Context, arrays: tuple[str, ...] | None) -> None:
        self._path = path
        self._context = context
        self._rows: list[ArrayRows] = []
        self._stored = open_stored(path, context)
        try:
            self._lying = arrays_in(self._stored, arrays)
            self.rows = self._count()
            self.spec = self._find_spec()
            self._row_bytes = sum(one.nbytes for one in self._lying) // max(self.rows, 1)
            self._rows = [rows_of(self._stored, one, context) for one in self._lying]
        except FormatError as error:
            self.close()
            raise self.failed(error) from None
        except BaseException:
            self.close()
            raise

    def failed(self, error: FormatError) -> DataError:
        """The error of this file that says so."""
        return DataError(
            f"{self._context.where}: {self._path} at byte {error.offset}: {error}.",
            op=self._context.label,
            file=self._path,
            offset=error.offset,
        )

    def _count(self) -> int:
        if not self._lying:
            raise FormatError("expected arrays, got an archive without any", 0)
        for one in self._lying:
            if not one.shape and not one.name:
                raise FormatError("expected an array with rows, got a single value, of no axis", 0)
            if not one.shape:
                raise FormatError(
                    f"expected arrays with rows, got the single value {one.name!r}. Choose: arrays=[...]",
                    0,
                )
        sizes = {one.name: one.shape[0] for one in self._lying}
        if len(set(sizes.values())) > 1:
            raise FormatError(
                f"expected arrays of one length, got {sizes}. Name those that go together: arrays=[...]", 0
            )
        return self._lying[0].shape[0]

    def _find_spec(self) -> Spec:
        leaves = []
        for one in self._lying:
            dtype = {"S": BYTES, "U": TEXT}.get(one.dtype.kind, one.dtype.newbyteorder("="))
            leaves.append(TensorSpec(one.shape[1:], dtype))
        if self._lying[0].name == "":
            return Spec(LEAF, leaves)
        names = tuple(one.name for one in self._lying)
        return Spec(Structure(dict, names, (LEAF,) * len(names)), leaves)

    def read(self, first: int, stop: int) -> Block:
        stop = min(stop, first + self._context.rows_for(self._row_bytes))
        return self._block(stop - first, lambda rows, out: rows.read(first, out))

    def gather(self, index: Index) -> Block:
        return self._block(len(index), lambda rows, out: rows.gather(index, out))

    def _block(self, count: int, fill: Callable[[ArrayRows, NDArray[Any]], None]) -> Block:
        columns: list[Column] = []
        for one, rows in zip(self._lying, self._rows, strict=True):
            out = self._context.empty((count, *one.shape[1:]), one.dtype.newbyteorder("="))
            try:
                fill(rows, out)
            except FormatError as error:
                raise self.failed(error) from None
            columns.append(column_of_array(out) if out.dtype.kind in "SU" else DenseColumn(out))
        return Block(self.spec.structure, columns, count)

    def close(self) -> None:
        for rows in self._rows:
            rows.close()
        self._rows = []
        self._stored.close()
