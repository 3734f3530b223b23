"""`CsvDataset`: the records of CSV files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from penstock.blocks.spec import BYTES, TEXT, Spec, TensorSpec
from penstock.blocks.structure import LEAF, tuple_of
from penstock.errors import ArgumentError, ArgumentTypeError
from penstock.graph import checks
from penstock.graph.running import Context
from penstock.io.formats.csv import CsvColumn, CsvForm, CsvReader
from penstock.io.stores.decompress import open_stream
from penstock.ops.parts.files import FilesOp
from penstock.site import user_site

CALL = "CsvDataset"
NUMBERS = tuple(np.dtype(kind) for kind in ("int32", "int64", "float32", "float64"))
DTYPES = {
    **{str(kind): f"np.{kind}" for kind in NUMBERS},
    **dict.fromkeys(("int", "integer", "long"), "np.int64"),
    **dict.fromkeys(("float", "double"), "np.float64"),
    **dict.fromkeys(("str", "string"), "str"),
    "bytes": "bytes",
}
"""How to say what these texts mean, which no field has by default."""


def columns_of(record_defaults: Any) -> tuple[CsvColumn, ...]:
    """What the user says of each column: a dtype where there has to be a value, or a default."""
    if isinstance(record_defaults, str | bytes) or not isinstance(record_defaults, Iterable):
        raise ArgumentTypeError(
            _said(f"expected a list with an item for each column, got {record_defaults!r}")
        )
    columns = tuple(_column(item, i) for i, item in enumerate(record_defaults))
    if not columns:
        raise ArgumentError(_said("expected an item for each column, got none"))
    return columns


def _column(item: Any, i: int) -> CsvColumn:
    if isinstance(item, str) and item in DTYPES:
        raise ArgumentTypeError(
            _said(
                f"expected a dtype or a list with a default in item {i}, got the text {item!r}. For the "
                f"dtype, say {DTYPES[item]}; for a default that is this text, [{item!r}]"
            )
        )
    if isinstance(item, type | np.dtype):
        return CsvColumn(_dtype(item, item, i))
    values = np.asarray(item)
    if values.size > 1 or (values.size == 0 and not isinstance(item, np.ndarray)):
        raise ArgumentError(
            _said(
                f"expected a dtype or one value in item {i}, got {item!r}. For a column that has to have a "
                f"value, say its dtype, such as np.float32"
            )
        )
    dtype = _dtype(values.dtype, item, i)
    if not values.size:
        return CsvColumn(dtype)
    value = values.ravel()[0]
    if dtype in (BYTES, TEXT):
        return CsvColumn(dtype, value.encode() if dtype == TEXT else bytes(value))
    return CsvColumn(dtype, value)


def _dtype(given: Any, item: Any, i: int) -> np.dtype[Any]:
    kind: np.dtype[Any] = np.dtype(given)
    if kind.kind in "SU":
        return BYTES if kind.kind == "S" else TEXT
    if kind not in NUMBERS:
        raise ArgumentTypeError(
            _said(f"expected int32, int64, float32, float64, bytes or str in item {i}, got {item!r}")
        )
    return kind


def _said(what: str) -> str:
    return f"{CALL}(record_defaults=) at {user_site()}: {what}."


def numbers_of(given: Any, which: str) -> tuple[int, ...] | None:
    """The numbers of columns that a user gave."""
    if given is None:
        return None
    call = f"{CALL}({which}=)"
    if not isinstance(given, Iterable):
        raise ArgumentTypeError(f"{call} at {user_site()}: expected numbers of columns, got {given!r}.")
    numbers = tuple(
        checks.count(one, call, least=0, words=", as columns are numbered from 0") for one in given
    )
    if not numbers or any(a >= b for a, b in pairwise(numbers)):
        raise ArgumentError(
            f"{call} at {user_site()}: expected numbers of columns in rising order, got {given!r}."
        )
    return numbers


@dataclass(frozen=True, eq=False, kw_only=True)
class Csv(FilesOp):
    """The records of all files, as tuples of their columns."""

    record_defaults: tuple[CsvColumn, ...] = field(repr=False)
    header: bool = False
    field_delim: str = ","
    use_quote_delim: bool = True
    na_value: str = ""
    select_cols: tuple[int, ...] | None = None
    exclude_cols: tuple[int, ...] | None = None

    name = CALL

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.flag(self.header, f"{CALL}(header=)")
        checks.flag(self.use_quote_delim, f"{CALL}(use_quote_delim=)")
        for which in ("field_delim", "na_value"):
            if not isinstance(getattr(self, which), str):
                raise ArgumentTypeError(
                    f"{CALL}({which}=) at {self.site}: expected a text, got {getattr(self, which)!r}."
                )
        delimiter = self.field_delim.encode()
        if len(delimiter) != 1 or delimiter in b"\n\r" or (self.use_quote_delim and delimiter == b'"'):
            raise ArgumentError(
                f"{CALL}(field_delim=) at {self.site}: expected one ASCII character, no end of a line and "
                f"no quote, got {self.field_delim!r}."
            )
        if self.select_cols is not None and self.exclude_cols is not None:
            raise ArgumentError(self.fail("expected select_cols or exclude_cols, got both."))
        if self.select_cols is not None and len(self.select_cols) != len(self.record_defaults):
            raise ArgumentError(
                self.fail(
                    f"expected an item in record_defaults for each of the {len(self.select_cols)} selected "
                    f"columns, got {len(self.record_defaults)}."
                )
            )

    def find_spec(self) -> Spec | None:
        leaves = [TensorSpec((), column.dtype) for column in self.record_defaults]
        return Spec(tuple_of([LEAF] * len(leaves)), leaves)

    def open(self, path: str, context: Context) -> CsvReader:
        form = CsvForm(
            columns=self.record_defaults,
            header=self.header,
            delimiter=self.field_delim.encode(),
            quotes=self.use_quote_delim,
            absent=self.na_value.encode(),
            select=self.select_cols,
            exclude=self.exclude_cols,
        )
        stream = open_stream(path, self.compression_type, context)
        return CsvReader(stream, context, self.buffer_size, form)
