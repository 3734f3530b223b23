"""The slots of a shuffle that is sized in bytes, compared with a plain list."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.blocks.block import Block
from penstock.blocks.build import block_of
from penstock.blocks.columns import DenseColumn, ObjectColumn
from penstock.blocks.structure import LEAF, structure_of
from penstock.kernels.bits import bits, counters
from penstock.ops.parts.bytebuffer import ByteBuffer, payload


def plain(key: int, limit: int, sizes: list[int]) -> tuple[list[int], list[int]]:
    """What comes out, and what is left in the buffer, place by place."""
    sizes = [max(size, 1) for size in sizes]
    held: list[int] = []
    out: list[int] = []
    for row, size in enumerate(sizes):
        while held and sum(sizes[i] for i in held) + size > limit:
            place = int(bits(key, counters(len(out), 1))[0]) * len(held) >> 64
            out.append(held[place])
            rest = sum(sizes[i] for i in held) - sizes[held[place]]
            if len(held) == 1 or rest + size <= limit:
                held[place] = row
                break
            held[place] = held[-1]
            held.pop()
        else:
            held.append(row)
    return out, held


@given(
    st.integers(0, 2**64 - 1),
    st.integers(1, 60),
    st.one_of(
        st.lists(st.integers(0, 25), max_size=60),
        st.tuples(st.integers(0, 20), st.integers(0, 60)).map(lambda x: [x[0]] * x[1]),
    ),
    st.integers(1, 30),
)
@settings(max_examples=300, deadline=None)
def test_given_any_sizes_then_blocks_and_rows_give_one_order(
    key: int, limit: int, sizes: list[int], rows: int
) -> None:
    buffer = ByteBuffer(key, limit)
    slots: dict[int, int] = {}
    out: list[int] = []
    for first in range(0, len(sizes), rows):
        some = sizes[first : first + rows]
        block = block_of(LEAF, [b"x" * size for size in some])
        sources, stay, places = buffer.enter(block)
        out += [slots[s] if s >= 0 else first - 1 - s for s in sources.tolist()]
        slots.update(zip(places.tolist(), (stay + first).tolist(), strict=True))
    left = [slots[slot] for slot in buffer.places(np.arange(buffer.held)).tolist()]
    assert (out, left) == plain(key, limit, sizes)
    assert len(slots) <= max(len(sizes), 1)


def test_given_a_leaf_in_any_kind_of_column_then_its_size_is_the_same() -> None:
    arrays: list[Any] = [np.arange(4), np.arange(4)]
    objects = np.empty(2, object)
    objects[0], objects[1] = arrays
    for column in (DenseColumn(np.stack(arrays)), ObjectColumn(objects)):
        assert payload(Block(LEAF, [column], 2)).tolist() == [32, 32]
    texts = [("é", [b"ab", b"c"]), ("", [b"", b""])]
    assert payload(block_of(structure_of(texts[0]), texts)).tolist() == [5, 0]
