"""Columns: however rows are held, they come out the same."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.op_contract import same
from penstock.blocks.build import as_leaf, block_of, column_of, concat, concat_columns, repeated
from penstock.blocks.columns import BytesColumn, DenseColumn, ObjectColumn, RaggedColumn
from penstock.blocks.structure import structure_of

small = st.integers(0, 3)
kinds: dict[str, st.SearchStrategy[Any]] = {
    "scalars": st.integers(-5, 5).map(np.int64),
    "arrays": st.lists(st.floats(-9, 9), min_size=3, max_size=3).map(np.asarray),
    "uneven": st.lists(st.integers(0, 9), max_size=4).map(lambda x: np.array(x, np.int32)),
    "matrices": st.tuples(small, small).map(lambda s: np.arange(s[0] * s[1]).reshape(s)),
    "bytes": st.binary(max_size=6),
    "text": st.text(max_size=4),
    "words": st.lists(st.binary(max_size=3), min_size=2, max_size=2).map(as_leaf),
    "mixed": st.one_of(st.integers(0, 3).map(np.int32), st.floats(0, 1).map(np.float64)),
    "objects": st.one_of(st.none(), st.integers(0, 3).map(np.int64)),
}
any_leaves = st.one_of([st.lists(kind, min_size=1, max_size=12) for kind in kinds.values()])


@given(any_leaves)
def test_given_leaves_then_the_column_gives_them_back(leaves: list[Any]) -> None:
    column = column_of(leaves)
    assert column.rows == len(leaves)
    assert same(list(column.items()), leaves)
    assert same([column.item(i) for i in range(len(leaves))], leaves)


@given(any_leaves, st.data())
def test_given_row_numbers_then_take_and_slice_give_those_rows(
    leaves: list[Any], data: st.DataObject
) -> None:
    column = column_of(leaves)
    index = data.draw(st.lists(st.integers(0, len(leaves) - 1), max_size=20))
    taken = column.take(np.array(index, np.int64))
    assert same(list(taken.items()) if index else [], [leaves[i] for i in index])
    start = data.draw(st.integers(0, len(leaves) - 1))
    stop = data.draw(st.integers(start + 1, len(leaves)))
    part = column.slice(start, stop)
    assert same(list(part.items()), leaves[start:stop])
    again = part.take(np.arange(stop - start)[::-1])
    assert same(list(again.items()), leaves[start:stop][::-1])


@given(any_leaves, st.data())
def test_given_pieces_then_joining_them_gives_the_whole(leaves: list[Any], data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(1, max(1, len(leaves) - 1)), max_size=3)))
    bounds = [0, *[cut for cut in cuts if cut < len(leaves)], len(leaves)]
    pieces = [column_of(leaves[a:b]) for a, b in pairwise(bounds)]
    assert same(list(concat_columns(pieces).items()), leaves)
    whole = column_of(leaves)
    views = [whole.slice(a, b) for a, b in pairwise(bounds)]
    assert same(list(concat_columns(views).items()), leaves)


@pytest.mark.parametrize(
    ("leaves", "kind"),
    [
        ([np.int64(1), np.int64(2)], DenseColumn),
        ([np.zeros((2, 2)), np.ones((2, 2))], DenseColumn),
        ([np.zeros(2), np.zeros(3)], RaggedColumn),
        ([b"a", b"bc"], BytesColumn),
        (["a", "ß"], BytesColumn),
        ([None, np.int64(1)], ObjectColumn),
        ([np.int32(1), np.int64(1)], ObjectColumn),
    ],
)
def test_the_kind_fits_the_leaves(leaves: list[Any], kind: type) -> None:
    assert type(column_of(leaves)) is kind


@pytest.mark.parametrize("leaves", [[np.arange(1000)] * 3, [b"x" * 5000] * 3, [np.zeros(9)] * 2])
def test_the_bytes_of_a_column_are_those_of_its_rows(leaves: list[Any]) -> None:
    column = column_of(leaves)
    held = sum(len(leaf) if isinstance(leaf, bytes) else leaf.nbytes for leaf in leaves)
    assert held <= column.nbytes <= held + 64 * len(leaves)
    assert column.slice(0, 1).nbytes <= held // len(leaves) + 64


def test_given_one_array_a_row_then_a_column_of_one_row_copies_nothing() -> None:
    array = np.arange(10)
    column = column_of([array])
    assert np.shares_memory(column.item(0), array)


def test_given_a_constant_then_it_is_repeated_over_the_rows() -> None:
    assert same(list(repeated(b"ab", 3).items()), [b"ab"] * 3)
    assert same(list(repeated(1.5, 2).items()), [np.float64(1.5)] * 2)


def test_given_nested_elements_then_a_block_gives_them_back() -> None:
    elements = [{"a": (np.int64(i), b"w" * i), "b": {"c": np.arange(i)}, "d": f"t{i}"} for i in range(5)]
    block = block_of(structure_of(elements[0]), elements)
    assert same(list(block.elements()), elements)
    assert same(block.element(3), elements[3])
    assert same(list(concat([block.slice(0, 2), block.slice(2, 5)]).elements()), elements)
    assert block.spec().structure.paths() == ["['a'][0]", "['a'][1]", "['b']['c']", "['d']"]
