"""Columns copied to memory of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from contract.op_contract import same
from penstock.blocks.build import column_of
from penstock.blocks.columns import ObjectColumn
from penstock.blocks.copied import copied


@pytest.mark.parametrize(
    "leaves",
    [
        [np.int64(i) for i in range(4)],
        [np.full((2, 3), i) for i in range(4)],
        [b"a", b"", b"bcd", b"e"],
        ["a", "", "bcd", "ä"],
        [np.arange(i) for i in range(4)],
        [None, 1.5, None, "x"],
    ],
    ids=["numbers", "arrays", "bytes", "text", "ragged", "objects"],
)
def test_given_some_rows_of_a_column_then_a_copy_is_the_same_and_apart(leaves: list[Any]) -> None:
    column = column_of(leaves).slice(1, 3)
    made = copied(column, np.empty)
    assert type(made) is type(column)
    assert same(list(made.items()), list(column.items()))
    if not isinstance(column, ObjectColumn):
        for one, its in zip(made.buffers(), column.buffers(), strict=True):
            assert not np.shares_memory(one, its)
