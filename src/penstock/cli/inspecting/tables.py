"""The columns of Arrow's tables: their types, their nulls and their ranges, batch by batch."""

from __future__ import annotations

from typing import Any

from penstock.cli.inspecting.findings import Column, Finding, wider
from penstock.cli.inspecting.values import look, show
from penstock.io.formats.optional import optional

LOOKED = 64
"""So many strings of a column are looked at to see what they are."""


class Table:
    """The columns of one schema, over the batches that were read."""

    def __init__(self, schema: Any) -> None:
        self._arrow = optional("pyarrow", "parquet")
        self._compute = optional("pyarrow.compute", "parquet")
        self.columns = [Column(field.name, *self._said(field.type), present=0) for field in schema]
        self._looked: list[list[bytes]] = [[] for _ in schema]
        self.rows = 0

    def _said(self, kind: Any) -> tuple[str, str, tuple[int | None, ...] | None]:
        """The dtype, no part, and the shape, of a type."""
        types = self._arrow.types
        shape: tuple[int | None, ...] = ()
        while types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
            shape = (*shape, kind.list_size if types.is_fixed_size_list(kind) else None)
            kind = kind.value_type
        return str(kind), "", shape

    def add(self, batch: Any) -> None:
        """Take in some rows."""
        self.rows += batch.num_rows
        for column, values, looked in zip(self.columns, batch.columns, self._looked, strict=True):
            column.present = (column.present or 0) + len(values) - values.null_count
            self._add(column, values, looked)

    def _add(self, column: Column, values: Any, looked: list[bytes]) -> None:
        types, compute = self._arrow.types, self._compute
        if types.is_list(values.type) or types.is_large_list(values.type):
            column.values = wider(column.values, self._least_and_most(compute.list_value_length(values)))
        while (
            types.is_list(values.type)
            or types.is_large_list(values.type)
            or types.is_fixed_size_list(values.type)
        ):
            values = values.flatten()
        kind = values.type
        if types.is_dictionary(kind):
            values, kind = values.dictionary, values.type.value_type
        if types.is_integer(kind) or types.is_floating(kind) or types.is_temporal(kind):
            if not types.is_float16(kind) and not types.is_interval(kind):
                column.range = wider(column.range, self._least_and_most(values))
        elif (
            types.is_string(kind)
            or types.is_binary(kind)
            or types.is_large_string(kind)
            or types.is_large_binary(kind)
        ):
            column.bytes = wider(column.bytes, self._least_and_most(compute.binary_length(values)))
            if types.is_binary(kind) or types.is_large_binary(kind):
                some = values.slice(0, LOOKED - len(looked)).to_pylist()
                looked += [one[:8192] for one in some if one is not None]

    def _least_and_most(self, values: Any) -> tuple[Any, Any] | None:
        kind = values.type
        if self._arrow.types.is_duration(kind):
            values = values.cast(self._arrow.int64())  # Arrow puts numbers in order, and no durations
        found = self._compute.min_max(values)
        if not found["min"].is_valid:
            return None
        least, most = _python(self._arrow.array([found["min"], found["max"]]).cast(kind))
        plain = isinstance(least, int | float)
        return (least, most) if plain else (str(least), str(most))

    def sample(self, batch: Any, found: Finding, samples: int) -> None:
        """Show the first rows of a batch, as long as more are wanted."""
        some = batch.slice(0, max(samples - len(found.samples), 0))
        for row in zip(*map(_python, some.columns), strict=True):
            found.samples.append(dict(zip(some.schema.names, map(show, row), strict=True)))

    def finish(self, found: Finding) -> None:
        """Tell what was found."""
        for column, looked in zip(self.columns, self._looked, strict=True):
            column.looks_like = look(looked)
        found.columns = self.columns


def _python(values: Any) -> list[Any]:
    """Arrow's values as Python's; as NumPy's where those have no room for them, such as times after 9999."""
    try:
        made: list[Any] = values.to_pylist()
    except (OverflowError, ValueError):
        return list(values.to_numpy(zero_copy_only=False))
    return made
