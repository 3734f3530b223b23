"""Blocks as flat buffers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from contract.op_contract import same
from penstock.blocks.build import block_of
from penstock.blocks.pack import pack, unpack, unpack_views
from penstock.blocks.structure import structure_of

ELEMENT = st.fixed_dictionaries(
    {
        "bytes": st.binary(max_size=5),
        "text": st.text(max_size=4),
        "array": st.lists(st.integers(-9, 9), max_size=3).map(lambda x: np.array(x, np.int16)),
        "number": st.integers(-9, 9).map(np.float32),
        "object": st.one_of(st.none(), st.frozensets(st.integers(0, 3))),
        "words": st.lists(st.binary(max_size=3), min_size=2, max_size=2),
    }
)


@given(st.lists(ELEMENT, min_size=1, max_size=8), st.data())
def test_given_leaves_of_every_kind_then_any_rows_come_back(elements: Any, data: Any) -> None:
    block = block_of(structure_of(elements[0]), elements)
    start = data.draw(st.integers(0, block.rows - 1))
    stop = data.draw(st.integers(start + 1, block.rows))
    packed, buffers = pack(block.slice(0, block.rows))
    raw = np.zeros(packed.nbytes, np.uint8)
    for offset, buffer in buffers:
        flat = np.ascontiguousarray(buffer).reshape(-1).view(np.uint8)
        raw[offset : offset + len(flat)] = flat

    def read(offset: int, out: Any) -> None:
        out.reshape(-1).view(np.uint8)[:] = raw[offset : offset + out.nbytes]

    expected = list(block.elements())
    assert same(list(unpack(packed, read, start, stop).elements()), expected[start:stop])
    assert same(list(unpack_views(packed, raw).elements()), expected)


def test_given_a_slice_of_a_large_block_then_only_its_bytes_are_packed() -> None:
    block = block_of(structure_of(b""), [b"x" * 1000] * 100)
    packed, _ = pack(block.slice(50, 52))
    assert packed.nbytes < 2100


def test_given_a_leaf_that_cannot_be_pickled_then_the_error_says_what_to_do() -> None:
    block = block_of(structure_of(1), [lambda: 1])
    with pytest.raises(ps.errors.PenstockError, match=r"pickled.*function.*Raise the memory"):
        pack(block)
