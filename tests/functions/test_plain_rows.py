"""What functions and generators give: the pipeline's own, and counted as what it is."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.streams import FAILED, events
from penstock.blocks.columns import size_of
from penstock.blocks.receive import SMALL, own
from penstock.blocks.structure import LEAF
from penstock.ops.parts.collect import Collector

ROWS = [1, 2, 64]


def reusing() -> Iterator[Any]:
    buffer = np.zeros(3, np.int64)
    for i in range(5):
        buffer[:] = i
        yield buffer


def reusing_nest() -> Iterator[Any]:
    buffer = np.zeros(3, np.int64)
    for i in range(5):
        buffer[:] = i
        yield {"a": buffer, "b": (buffer[1:], i)}


def reusing_record() -> Iterator[Any]:
    buffer = np.zeros(1, [("a", "i8")])
    for i in range(5):
        buffer["a"] = i
        yield buffer[0]


@pytest.mark.parametrize("rows", ROWS)
def test_given_a_generator_that_reuses_its_buffer_then_every_element_keeps_its_values(rows: int) -> None:
    options = ps.Options(block_rows=rows)
    plain = ps.Dataset.from_generator(reusing)
    checked = ps.Dataset.from_generator(reusing, output_signature=ps.TensorSpec((3,), np.int64))
    for ds in (plain, checked, plain.prefetch(2), plain.cache()):
        kept = list(ds.with_options(options))
        assert [x.tolist() for x in kept] == [[i] * 3 for i in range(5)]
    nest = list(ps.Dataset.from_generator(reusing_nest).with_options(options))
    assert [(x["a"].tolist(), x["b"][0].tolist()) for x in nest] == [([i] * 3, [i] * 2) for i in range(5)]
    records = list(ps.Dataset.from_generator(reusing_record).with_options(options))
    assert [int(x["a"]) for x in records] == list(range(5))


def reusing_reshaped() -> Iterator[Any]:
    buffer = np.zeros(4, np.int64).reshape(2, 2)  # nobody but the buffer has its base
    for i in range(5):
        buffer[:] = i
        yield buffer


@pytest.mark.parametrize("rows", ROWS)
def test_given_a_buffer_that_is_a_view_then_every_element_keeps_its_values(rows: int) -> None:
    source = reusing_reshaped()
    generated = ps.Dataset.from_generator(reusing_reshaped)
    mapped = ps.Dataset.range(5).map(lambda _: next(source))
    for ds in (generated, mapped):
        kept = list(ds.with_options(ps.Options(block_rows=rows)))
        assert [x[1, 1] for x in kept] == list(range(5))


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("nested", [False, True])
def test_given_a_function_that_reuses_its_buffer_then_every_element_keeps_its_values(
    rows: int, nested: bool
) -> None:
    buffer = np.zeros(2, np.int64)

    def function(x: Any) -> Any:
        buffer[:] = x
        return (buffer, x) if nested else buffer

    ds = ps.Dataset.range(5).map(function).with_options(ps.Options(block_rows=rows))
    kept = [x[0] if nested else x for x in list(ds)]
    assert [x.tolist() for x in kept] == [[i] * 2 for i in range(5)]


@pytest.mark.parametrize("rows", ROWS)
def test_given_the_users_own_arrays_then_elements_are_not_them(rows: int) -> None:
    data = [np.ones(3) for _ in range(4)]
    table = np.ones((4, 3))
    options = ps.Options(block_rows=rows)

    def change(x: Any) -> Any:
        x *= 0
        return x

    for ds in (
        ps.Dataset.from_generator(lambda: iter(data)),
        ps.Dataset.from_generator(lambda: iter(data)).map(change),
        ps.Dataset.range(4).map(lambda i: table[i]),
        ps.Dataset.range(4).map(lambda i: data[int(i)]).map(change),
        ps.Dataset.range(4).map(lambda i: table[int(i) :]),
        ps.Dataset.from_tensor_slices(table).map(lambda x: table[0] if x.any() else x),
    ):
        for x in ds.with_options(options):
            assert not np.shares_memory(x, table)
            if x.flags.writeable:
                x *= 0
    assert sum(x.sum() for x in data) == 12
    assert table.sum() == 12


def test_given_a_small_view_of_a_large_array_then_the_large_one_is_dropped() -> None:
    def views() -> Iterator[Any]:
        for _ in range(3):
            yield np.zeros(1 << 20, np.uint8)[:10]

    for ds in (
        ps.Dataset.from_generator(views),
        ps.Dataset.range(3).map(lambda _: np.frombuffer(bytes(1 << 20), np.uint8)[:10]),
    ):
        for x in ds.with_options(ps.Options(block_rows=1)):
            root = x
            while root.base is not None:
                root = root.base
            assert len(root) < 100


def test_given_a_fresh_array_then_it_is_not_copied() -> None:
    addresses = []

    def fresh(i: Any) -> Any:
        made = np.full(1 << 20, int(i))
        addresses.append(made.ctypes.data)
        return {"a": made.reshape(1024, -1), "b": (np.frombuffer(bytes(1 << 20), np.uint8), i)}

    def yielded() -> Iterator[Any]:
        for i in range(3):
            yield fresh(i)

    one = ps.Options(block_rows=1)
    for ds in (ps.Dataset.range(3).map(fresh), ps.Dataset.from_generator(yielded)):
        addresses.clear()
        got = [x["a"].ctypes.data for x in ds.with_options(one)]
        assert got == addresses[-3:]
    whole = [lambda i: np.full(1 << 20, int(i)), lambda i: np.arange(int(i), 1 << 20)[1:]]
    for function in whole:
        leaves = [function(3)]
        before = leaves[0].ctypes.data
        own(leaves)
        assert leaves[0].ctypes.data == before


def test_given_an_array_that_another_has_then_it_is_copied() -> None:
    held = np.zeros(100)
    for shared in (held, held[:], held[10:].reshape(9, 10), np.broadcast_to(held, (2, 100))):
        leaves = [shared]
        own(leaves)
        assert not np.shares_memory(leaves[0], held)
        assert np.array_equal(leaves[0], shared)
    twice = [np.zeros(100)]
    twice.append(twice[0])
    own(twice)
    assert not np.shares_memory(*twice)


@pytest.mark.parametrize("rows", ROWS)
def test_given_arrays_without_axes_then_they_are_scalars_for_every_block_size(rows: int) -> None:
    ds = ps.Dataset.range(4).map(lambda x: np.asarray(1.0) if x % 2 else np.float64(2.0))
    generated = ps.Dataset.from_generator(lambda: iter([np.asarray(1), np.asarray("a"), np.asarray(b"b")]))
    options = ps.Options(block_rows=rows)
    assert [type(x) for x in ds.with_options(options)] == [np.float64] * 4
    assert [type(x) for x in generated.with_options(options)] == [np.int64, str, bytes]
    (batch,) = ds.batch(4).with_options(options)
    assert batch.dtype == np.float64


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize(
    "function, expected",
    [
        (lambda x: int(x) if x % 2 else 7, [7, 1, 7, 3]),
        (lambda x: float(x) if x != 1 else -0.5, [0.0, -0.5, 2.0, 3.0]),
        (lambda x: bool(x) if x else False, [False, True, True, True]),
        (lambda x: (int(x), b"a") if x % 2 else (x, b"b"), [(0, b"b"), (1, b"a"), (2, b"b"), (3, b"a")]),
        (lambda x: {"a": x, "b": 1.5} if x else {"b": 2.5, "a": 9}, [(9, 2.5), (1, 1.5), (2, 1.5), (3, 1.5)]),
        (lambda x: (x, None), [(0, None), (1, None), (2, None), (3, None)]),
    ],
    ids=["whole", "float", "bool", "tuple", "dict in another order", "None in a tuple"],
)
def test_given_pythons_own_numbers_and_nests_then_every_block_size_gives_the_same(
    function: Any, expected: list[Any], rows: int
) -> None:
    ds = ps.Dataset.range(4).map(function, executor="threads").with_options(ps.Options(block_rows=rows))
    got = [(element["a"], element["b"]) if isinstance(element, dict) else element for element in ds]
    assert got == expected
    numbers = [leaf for element in got for leaf in (element if isinstance(element, tuple) else (element,))]
    assert all(isinstance(leaf, np.generic | bytes | None) for leaf in numbers)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize(
    "bad", [{"a": 1}, {"a": 1, "c": 2}, {"a": 1, "b": 2, "c": 3}, {"a": 1, "b": (2,)}, (1, 2)], ids=repr
)
def test_given_another_structure_in_the_middle_then_that_element_alone_fails(bad: Any, rows: int) -> None:
    ds = ps.Dataset.range(3).map(lambda x: bad if x == 1 else {"a": x, "b": x}, executor="threads")
    assert events(ds, block_rows=rows) == [{"a": 0, "b": 0}, FAILED, {"a": 2, "b": 2}]


def test_given_rows_that_draw_then_each_draws_as_it_would_alone() -> None:
    def function(x: Any) -> Any:
        first = ps.random.uniform()
        return (first, ps.random.uniform() if x % 2 else x * 1.0)

    ds = ps.Dataset.range(6).map(function, executor="threads")
    alone, together = (
        [tuple(map(float, pair)) for pair in ds.with_options(ps.Options(block_rows=rows)).iterate(seed=1)]
        for rows in (1, 6)
    )
    assert alone == together
    assert len({first for first, _ in alone}) == 6


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize(
    "bad, said",
    [
        ("a\ud800", r"'a\\ud800' with half of a surrogate pair.*surrogatepass"),
        (["b", "\udc80"], "half of a surrogate pair"),
        (np.array(["b", "\udc80"]), "half of a surrogate pair"),
        (np.array(["b", "\udc80"], object), "half of a surrogate pair"),
        (1 << 70, "beyond 64 bits"),
        ([1 << 70], "beyond 64 bits"),
        ([[1], [1, 2]], "no array of one shape"),
        (np.ma.masked_array([1, 2], mask=[0, 1]), r"masked array.*filled"),
    ],
)
def test_given_what_cannot_be_an_element_then_it_alone_fails_and_says_where(
    bad: Any, said: str, rows: int
) -> None:
    def function(x: Any) -> Any:
        return bad if x == 1 else "good"

    def generator() -> Iterator[Any]:
        yield from ("good", bad, "good")

    options = ps.Options(block_rows=rows)
    for ds in (ps.Dataset.range(3).map(function), ps.Dataset.from_generator(generator)):
        assert events(ds, block_rows=rows) == ["good", FAILED, "good"]
        with pytest.raises(ps.errors.DataError, match=rf"at .*test_plain_rows\.py:\d+.*element 1 .*{said}"):
            list(ds.with_options(options))


@pytest.mark.parametrize(
    "leaf, least",
    [
        (frozenset([bytes(1 << 20)]), 1 << 20),
        (np.array([bytes(1 << 20), "y", None], object), 1 << 20),
        ({1: [(bytes(1 << 20),)]}, 1 << 20),
        (frozenset(float(i) for i in range(3000)), 3000 * 24),
        (np.array([np.zeros(1 << 17), None], object), 1 << 20),
    ],
)
def test_given_objects_then_what_they_contain_is_counted(leaf: Any, least: int) -> None:
    assert least <= size_of(leaf) <= 2 * least + sys.getsizeof(leaf)


def test_given_one_object_in_many_places_then_it_is_counted_once() -> None:
    assert size_of([bytes(1 << 20)] * 100) < 2 << 20
    endless: list[Any] = []
    endless.append(endless)
    assert size_of(endless) < 10_000


def test_given_a_shuffle_of_objects_then_they_are_on_the_account() -> None:
    ds = ps.Dataset.range(40).map(lambda i: {"s": frozenset([bytes((1 << 20) - int(i))])}).shuffle(40)
    with ds.iterate(memory="16MiB") as it:
        assert sum(1 for _ in it) == 40
        assert 4 << 20 < it._run.ledger.peak <= 17 << 20


@pytest.mark.parametrize("count", [3, SMALL // 8, SMALL // 8 + 1])
def test_given_a_buffer_of_objects_that_is_used_again_then_every_element_keeps_its_values(count: int) -> None:
    buffer = np.empty(count, object)

    def filled(i: Any) -> Any:
        buffer[:] = f"row {int(i)}"
        return buffer

    expected = [f"row {i}" for i in range(5)]
    assert [row[-1] for row in ps.Dataset.from_generator(lambda: map(filled, range(5)))] == expected
    assert [row[-1] for row in ps.Dataset.range(5).map(filled)] == expected


def test_given_small_arrays_of_a_signature_then_none_is_kept_while_the_generator_goes_on() -> None:
    alive = []

    def rows() -> Any:
        large = None
        for i in range(6):
            if large is not None:
                alive.append(large() is not None)
            row = np.full(1000, i, np.uint8)
            large = weakref.ref(row)
            view = row[:8]
            del row
            yield view
            del view

    ds = ps.Dataset.from_generator(rows, output_signature=ps.TensorSpec((8,), np.uint8)).batch(6)
    assert [batch[:, 0].tolist() for batch in ds] == [[0, 1, 2, 3, 4, 5]]
    assert not any(alive)


def test_given_small_arrays_of_a_signature_then_they_fill_blocks_by_their_bytes() -> None:
    made = Collector("from_generator", 10_000, LEAF, where="here")
    rows = 0
    while not made.full:
        made.add_small(np.zeros(1000, np.uint8))
        rows += 1
    assert 5 < rows <= 10
    block = made.block()
    assert block is not None and block.rows == rows
    assert not made.full and made.block() is None


@pytest.mark.parametrize(
    "other",
    [
        np.arange(3, dtype=">i8"),
        np.array(7),
        np.array(["a", "b"]),
        np.arange(4, dtype=np.int32),
        np.zeros((2, 2), np.int64),
        np.zeros(0, np.int64),
    ],
)
def test_given_another_kind_of_array_in_the_middle_then_it_comes_as_it_would_alone(other: Any) -> None:
    def changing(i: Any) -> Any:
        return other if int(i) == 3 else np.arange(int(i) % 3 + 1)

    many = list(ps.Dataset.range(6).map(changing))
    one = list(ps.Dataset.range(6).map(changing).with_options(ps.Options(block_rows=1)))
    for left, right in zip(many, one, strict=True):
        assert type(left) is type(right) and left.dtype == right.dtype and left.dtype.isnative
        assert np.array_equal(left, right)


def test_given_a_generator_as_a_result_then_the_user_is_told_of_flat_map() -> None:
    def yields(i: Any) -> Any:
        yield i

    with pytest.warns(UserWarning, match="returned a generator for element 0.*flat_map"):
        assert len(list(ps.Dataset.range(2).map(yields))) == 2
