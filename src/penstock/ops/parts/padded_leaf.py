"""One leaf of a padded batch: what its rows are, noted as they come, and so what it is padded to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.blocks.build import concat_columns
from penstock.blocks.columns import BytesColumn, Column, DenseColumn
from penstock.blocks.spec import BYTES, OBJECT, TEXT, dtype_name
from penstock.kernels.spans import Empty
from penstock.ops.parts import padding
from penstock.ops.parts.assembly import is_locked
from penstock.ops.parts.laid import Laid, LaidArray, LaidStrings

STRINGS = (BYTES, TEXT)


class PaddedLeaf:
    """Keeps no rows and no shapes, only what the batch has to know of them."""

    def __init__(self, said: padding.Shape | None) -> None:
        self._said = said
        self._dtypes: set[np.dtype[Any]] = set()
        self._longest: dict[int, tuple[int, ...]] = {}  # by rank
        self._wrong: TypeError | None = None
        self._over: tuple[int, tuple[int, ...]] | None = None
        self._string_bytes = 0
        self._string_shapes: set[tuple[int, ...] | None] = set()  # None where they lie in no order
        self._locked = False
        self.rows = 0

    def see(self, column: Column, number: int) -> None:
        """Note the rows of a column, the first of which is element `number`."""
        dtypes = padding.dtypes_of(column)
        self._dtypes |= dtypes
        self.rows += column.rows
        self._locked = self._locked or is_locked(column)
        if not dtypes or not dtypes.isdisjoint(STRINGS):
            self._see_strings(column)
        try:
            longest = padding.longest_of(column)
        except TypeError as error:
            self._wrong = self._wrong or error
            return
        rank = len(longest)
        before = self._longest.get(rank, longest)
        self._longest[rank] = longest if before == longest else tuple(map(max, before, longest))
        if self._said is not None and self._over is None and len(self._said) == rank:
            pairs = zip(self._said, longest, strict=True)
            if any(wanted is not None and size > wanted for wanted, size in pairs):
                self._note_over(column, number)

    def _see_strings(self, column: Column) -> None:
        if isinstance(column, BytesColumn):
            self._string_bytes += int(column.offsets[-1] - column.offsets[0])
            self._string_shapes.add(column.shape)
        else:
            self._string_bytes += column.nbytes
            self._string_shapes.add(None)

    def _note_over(self, column: Column, number: int) -> None:
        assert self._said is not None
        most = [np.iinfo(np.int64).max if size is None else size for size in self._said]
        shapes = padding.shapes_of(column)
        row = int((shapes > np.array(most, np.int64)).any(axis=1).argmax())
        self._over = number + row, tuple(shapes[row].tolist())

    def problem(self, path: str, first: int) -> tuple[str, int] | None:
        """Why these rows make no batch, and at which element; None where they do."""
        if len(self._dtypes) > 1:
            names = " and ".join(sorted(map(dtype_name, self._dtypes)))
            return f"element{path}: expected elements of one dtype, got {names}", first
        if self._wrong is not None:
            return f"element{path}: {self._wrong}", first
        ranks, said = sorted(self._longest), self._said
        if len(ranks) > 1:
            return f"element{path}: expected elements of one rank, got the ranks {ranks}", first
        if said is not None and len(said) != ranks[0]:
            came = f"expected elements of rank {len(said)}, got the rank {ranks[0]}"
            return f"element{path}: {came}", first
        if self._over is not None:
            number, shape = self._over
            return (
                f"element{path} has the shape {shape}, which is longer than the padded "
                f"shape {said}. Cut it with a map before, or give larger padded_shapes",
                number,
            )
        return None

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of all rows, where there is no problem."""
        return next(iter(self._dtypes), OBJECT)

    @property
    def target(self) -> tuple[int, ...]:
        """What every row is padded to, where there is no problem."""
        (longest,) = self._longest.values()
        if self._said is None:
            return longest
        pairs = zip(self._said, longest, strict=True)
        return tuple(size if wanted is None else wanted for wanted, size in pairs)

    @property
    def nbytes(self) -> int:
        """The bytes of the batch that the rows so far make."""
        if self.problem("", 0) is not None:
            return 0
        cells = self.rows * int(np.prod(self.target, dtype=np.int64))
        if self.dtype not in STRINGS:
            return cells * self.dtype.itemsize
        joined = cells * 8 + self._string_bytes
        # Where there are gaps, references to the strings are laid first, and joined then.
        return joined if self._joined else 2 * joined

    @property
    def _joined(self) -> bool:
        return self._string_shapes == {self.target}

    def begin(self, value: Any, count: int, empty: Empty) -> Laid:
        """Take the memory for `count` batches of these rows, padded with `value`."""
        target = self.target
        if self._joined:
            shape, text = (self.rows // count, *target), self.dtype == TEXT
            return LaidStrings(self._string_bytes, shape, empty, text=text)
        dtype = OBJECT if self.dtype.kind in "SUO" else np.asarray(value).dtype
        return LaidArray(empty((self.rows, *target), dtype), value, count, locked=self._locked)

    def uncopied(self, leaf: Sequence[Column], count: int) -> Column | None:
        """The batches where nothing, or only strings, have to be laid for them."""
        one, target = leaf[0], self.target
        batched = (self.rows // count, *target)
        if len(leaf) == 1 and isinstance(one, DenseColumn) and one.array.shape[1:] == target:
            return DenseColumn(one.array.reshape(count, *batched))
        if all(isinstance(part, BytesColumn) and part.shape == target for part in leaf):
            joined = concat_columns(leaf)
            assert isinstance(joined, BytesColumn)
            return joined.reshaped(batched)
        return None
