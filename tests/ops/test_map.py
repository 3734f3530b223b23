"""`map`."""

from __future__ import annotations

import functools
import warnings
from collections import namedtuple
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract, same
from contract.ways import why_row_by_row
from penstock.blocks.build import block_of
from penstock.blocks.structure import LEAF
from penstock.functions.function import UserFunction
from penstock.functions.row_function import RowFunction

PIXELS = np.random.default_rng(0).integers(0, 255, (40, 6, 5)).astype(np.uint8)
WORDS = [b"a", b"", b"ccc", b"dd"] * 5
Point = namedtuple("Point", "x y")


class Both(NamedTuple):
    first: Any

    def twice(self) -> Any:
        return self.first * 2


def twice(x: Any) -> Any:
    return x * 2


def scaled(x: Any) -> Any:
    return x.astype(np.float32) / 255


def scaled_if_bright(x: Any) -> Any:
    return x / 255 if x.mean() > 127 else x * 1.0


def summed(x: Any) -> Any:
    return {"sum": (x * 0.1).sum(), "mean": x.mean(axis=0), "max": x.max(), "word": b"w", "n": 3}


def noisy(x: Any) -> Any:
    return x + ps.random.normal(), ps.random.integers(0, 9, (2,))


def noisy_and_plain(x: Any) -> Any:
    return float(x) + ps.random.normal(), ps.random.integers(0, 9, (2,))


def augmented(x: Any) -> Any:
    x = ps.image.random_flip_left_right(x)
    x = ps.image.random_crop(x, (4, 4))
    return ps.image.random_brightness(x, 0.2)


def with_label(x: Any, y: Any) -> Any:
    return x, y


def of_a_dict(x: Any) -> Any:
    x["more"] = x["n"] * 2
    return x


def ragged(x: Any) -> Any:
    return np.arange(int(x) % 4)


def as_points(x: Any) -> Any:
    return Point(x, y=[x, x + 1])


def tripled(point: Any) -> Any:
    return point.x * 3, point.y


def transposed(x: Any) -> Any:
    return x.T * 0.1


def total(x: Any) -> Any:
    return x.sum()


class TestMap(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        numbers, pixels = ps.Dataset.range(50), ps.Dataset.from_tensor_slices(PIXELS)
        words = ps.Dataset.from_tensor_slices({"w": WORDS, "n": np.arange(20)})
        pairs = ps.Dataset.from_tensor_slices((PIXELS[:20], WORDS))
        return {
            "twice": lambda: numbers.map(twice),
            "scaled": lambda: pixels.map(scaled),
            "branching": lambda: pixels.map(scaled_if_bright),
            "summed": lambda: pixels.map(summed),
            "noisy": lambda: numbers.map(noisy),
            "noisy and plain": lambda: numbers.map(noisy_and_plain),
            "augmented": lambda: pixels.map(augmented),
            "bytes passed on": lambda: pairs.map(with_label),
            "dict": lambda: words.map(of_a_dict),
            "ragged": lambda: numbers.map(ragged),
            "named": lambda: numbers.map(as_points).map(tripled),
            "chain": lambda: pixels.map(scaled).map(augmented).map(transposed).map(total),
            "chain after a branch": lambda: pixels.map(scaled_if_bright).map(transposed).map(total),
            "shuffled": lambda: numbers.map(noisy).shuffle(7),
            "augmented, shuffled": lambda: pixels.map(scaled).map(augmented).shuffle(9).batch(4),
            "batches": lambda: numbers.batch(4, drop_remainder=True).map(noisy),
        }

    def test_given_a_chain_then_the_result_is_that_of_plain_calls(self) -> None:
        got = list(ps.Dataset.from_tensor_slices(PIXELS).map(scaled).map(transposed).map(total))
        plain = [total(np.ascontiguousarray(transposed(scaled(x)))) for x in PIXELS]
        assert same(got, plain)


@pytest.mark.parametrize("function", [twice, noisy, lambda x: (x, 1.5, b"x", None)])
def test_given_a_pure_function_then_it_runs_over_the_block(function: Any) -> None:
    ds = ps.Dataset.range(20).map(function)
    assert why_row_by_row(ds) == ""
    assert ds.op.ways() == "called over whole blocks"
    assert ds.op.hoistable


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (noisy_and_plain, "float()"),
        (lambda x: print(x) or x, "uses print"),
        (lambda x: x if x > 3 else -x, "branches"),
    ],
)
def test_given_another_function_then_it_is_called_row_by_row_and_says_why(
    function: Any, why: str, capsys: Any
) -> None:
    ds = ps.Dataset.range(6).map(function)
    assert why in why_row_by_row(ds)
    assert why in ds.op.ways()
    assert not ds.op.hoistable
    assert ds.op.spec is None


def test_given_side_effects_then_the_function_is_called_once_an_element_in_order() -> None:
    seen: list[int] = []

    def note(x: Any) -> Any:
        seen.append(int(x))
        return x * 2

    ds = ps.Dataset.range(30).map(note)
    assert ds.op.spec is None
    assert seen == []
    assert same(list(ds.batch(7)), [np.arange(a, min(a + 14, 60), 2) for a in range(0, 60, 14)])
    assert seen == list(range(30))


def test_given_an_exception_that_is_caught_then_a_refusal_is_not_hidden() -> None:
    def hides(x: Any) -> Any:
        try:
            return x * 1 if x > 3 else x * 2
        except Exception:
            return x * 0

    assert [int(x) for x in ps.Dataset.range(6).map(hides)] == [0, 2, 4, 6, 4, 5]
    assert through(rows_of(hides), 0, 6) == [0, 2, 4, 6, 4, 5]
    assert "handles exceptions" in why_row_by_row(ps.Dataset.range(6).map(hides))


def inverse(x: Any) -> Any:
    try:
        return np.linalg.inv(x)
    except Exception:
        return np.full((2, 2), -1.0)


def quotient(x: Any) -> Any:
    try:
        with np.errstate(divide="raise"):
            return 1 / x
    except FloatingPointError:
        return np.full((2, 2), -1.0)


def picked(x: Any) -> Any:
    try:
        return x[x[0, 0].astype(np.int64) - 1] + np.zeros((2, 2))
    except IndexError:
        return np.full((2, 2), -1.0)


@pytest.mark.parametrize("function", [inverse, quotient, picked])
@pytest.mark.parametrize("trusted", [False, True])
def test_when_one_row_fails_and_the_function_catches_it_then_only_that_row_is_caught(
    function: Any, trusted: bool
) -> None:
    data = np.random.default_rng(0).uniform(1, 2, (1000, 2, 2))
    data[700] = 0 if function is not picked else 9
    if trusted:  # only the trace can find it out
        rows, got, first = rows_of(function), [], 0
        while first < 1000:
            numbers = np.arange(first, min(first + 64, 1000))
            outcome = rows.apply(block_of(LEAF, list(data[numbers])), numbers, 1 << 20, int(numbers[0]))
            assert outcome.block is not None
            got += outcome.block.elements()
            first += outcome.used
        assert rows.why
    else:
        ds = ps.Dataset.from_tensor_slices(data).map(function)
        got = list(ds.with_options(ps.Options(block_rows=64)))
    assert same(got, [function(x) for x in data])
    assert [i for i, x in enumerate(got) if (x == -1).all()] == [700]


@pytest.mark.parametrize(
    ("dataset", "function", "hint"),
    [
        (ps.Dataset.range(3), lambda x, y: x, r"The element is no tuple: it is one argument"),
        (
            ps.Dataset.from_tensor_slices({"a": [1, 2], "b": [3, 4]}),
            lambda a, b: a,
            r"The element is a dict: it is one argument, as in `lambda x: \.\.\.`",
        ),
        (
            ps.Dataset.from_tensor_slices(([1, 2], [3, 4])),
            lambda x: x,
            r"The element is a tuple of 2: its parts are separate arguments, as in `lambda x, y: \.\.\.`",
        ),
    ],
)
def test_given_a_wrong_number_of_arguments_that_nobody_knew_then_the_error_says_how_it_is_called(
    dataset: ps.Dataset, function: Any, hint: str
) -> None:
    opaque = dataset.map(lambda *parts: (print("", end=""), parts[0] if len(parts) == 1 else parts)[1])
    with pytest.raises(ps.errors.FunctionError, match=hint):
        list(opaque.map(function))


PAIRS = ps.Dataset.from_tensor_slices(([1, 2], [3, 4]))


@pytest.mark.parametrize(
    ("declare", "said"),
    [
        (
            lambda: ps.Dataset.range(3).map(lambda x, y: x),
            r"1 argument, .* got <lambda>\(x, y\)",
        ),
        (lambda: PAIRS.shuffle(2).map(lambda x: x), r"2 arguments, .*as in `lambda x, y: \.\.\.`"),
        (lambda: PAIRS.batch(2).filter(lambda: True), "2 arguments, the parts of the element"),
        (lambda: PAIRS.take_while(lambda x: True), "2 arguments"),
        (lambda: PAIRS.flat_map(lambda x: PAIRS), "2 arguments"),
        (lambda: PAIRS.interleave(lambda x: PAIRS), "2 arguments"),
        (lambda: PAIRS.reduce(0, lambda s, x, y: s), "2 arguments, the state and the element"),
        (lambda: PAIRS.scan(0, lambda s, x, y: s), "2 arguments, the state and the element"),
        (lambda: PAIRS.group_by_window(lambda x: 0, lambda k, ds: ds, 2), "2 arguments"),
        (
            lambda: PAIRS.group_by_window(lambda x, y: 0, lambda ds: ds, 2),
            "2 arguments, the key and a dataset",
        ),
        (lambda: ps.Dataset.from_generator(lambda n: iter([n])), "0 arguments, those of args="),
    ],
)
def test_given_the_wrong_number_of_arguments_then_declaring_fails_and_names_the_line(
    declare: Any, said: str
) -> None:
    with pytest.raises(ps.errors.ArgumentTypeError, match=rf"test_map\.py:\d+: .*function of {said}"):
        declare()


def test_given_functions_that_take_what_they_are_called_with_then_none_is_refused() -> None:
    def three_times(function: Any) -> Any:
        @functools.wraps(function)
        def wrapped(x: Any) -> Any:
            return function(x, 3)

        return wrapped

    taken = [
        three_times(np.multiply),
        three_times(lambda x, y: x * y),
        lambda x, y=3: x * y,
        lambda *x: x[0] * 3,
    ]
    for function in (*taken, functools.partial(np.multiply, 3)):
        assert [int(x) for x in ps.Dataset.range(3).map(function)] == [0, 3, 6]
    pairs = ps.Dataset.range(3).map(lambda x: (x, x)).map(lambda x, y: x + y).map(lambda z: (z, z, z))
    assert [int(z) for z in pairs.shuffle(1).map(lambda x, y, z: z)] == [0, 2, 4]


def test_given_a_wrong_call_inside_the_function_then_there_is_no_hint_about_the_element() -> None:
    def inner(x: Any, y: Any) -> Any:
        return x + y

    with pytest.raises(ps.errors.FunctionError, match="positional argument") as failed:
        list(ps.Dataset.range(3).map(lambda x: inner(x)))  # type: ignore[call-arg]
    assert "The element is" not in str(failed.value)


def rows_of(function: Any) -> RowFunction:
    """Trusts a function that it should not, so that only the comparison can find it out."""
    rows = RowFunction([UserFunction(function, ps.Dataset.range(1).map(twice).op, "map", 1)])
    rows.why = ""
    return rows


def through(rows: RowFunction, first: int, last: int) -> list[int]:
    """The results for these numbers, in blocks of eight."""
    got: list[int] = []
    while first < last:
        numbers = np.arange(first, min(first + 8, last))
        outcome = rows.apply(block_of(LEAF, list(numbers)), numbers, 1 << 20, first)
        assert outcome.block is not None
        got += [int(x) for x in outcome.block.elements()]
        first += outcome.used
    return got


def test_when_the_first_rows_differ_from_plain_calls_then_plain_calls_decide() -> None:
    rows = rows_of(lambda x: x * 2 if type(x) is np.int64 else x * 3)
    assert through(rows, 1, 9) == list(range(2, 18, 2))
    assert rows.why == "a plain call gave another result"


def test_when_a_later_row_differs_then_it_is_found_by_its_place_and_redone() -> None:
    rows = rows_of(lambda x: x * 2 if type(x) is not np.int64 or x < 16 else x * 5)
    assert through(rows, 0, 40) == [x * 2 if x < 16 else x * 5 for x in range(40)]
    assert rows.why


def test_when_rows_fail_then_good_rows_come_first_and_the_error_names_row_and_line() -> None:
    def picks(x: Any) -> Any:
        return np.arange(100)[x * 20]

    it = iter(ps.Dataset.range(7).map(picks))
    assert [int(next(it)) for _ in range(5)] == [0, 20, 40, 60, 80]
    for number in (5, 6):
        with pytest.raises(ps.errors.FunctionError, match=rf"element {number}: IndexError") as failed:
            next(it)
        assert failed.value.number == number
        assert "in picks" in str(failed.value)
    with pytest.raises(StopIteration):
        next(it)


def test_when_a_call_over_the_block_raises_then_plain_calls_find_the_row() -> None:
    def takes(x: Any, i: Any) -> Any:
        return x[i]

    data = (np.arange(12.0).reshape(4, 3), np.array([0, 2, 3, 1]))
    it = iter(ps.Dataset.from_tensor_slices(data).map(takes))
    assert [float(next(it)), float(next(it))] == [0.0, 5.0]
    with pytest.raises(ps.errors.FunctionError, match="element 2: IndexError"):
        next(it)
    assert float(next(it)) == 10.0


def test_given_fused_maps_when_one_fails_then_the_error_names_it() -> None:
    def halves(x: Any) -> Any:
        return 10 // x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ds = ps.Dataset.range(3).map(twice).map(halves)
        with pytest.raises(ps.errors.FunctionError, match=r"map#2 at .*in halves"):
            list(ds)
        ds = ps.Dataset.range(3).map(halves).map(twice)
        assert ds.op.hoistable
        with pytest.raises(ps.errors.FunctionError, match=r"map#1 at .*in halves"):
            list(ds)


def test_given_little_room_then_only_so_many_rows_are_used() -> None:
    rows = rows_of(lambda x: x + np.zeros(100))
    numbers = np.arange(50)
    block = block_of(LEAF, list(numbers))
    assert rows.apply(block, numbers, 4000, 0).used == 1  # what a row takes is not known yet
    assert rows.apply(block, numbers, 4000, 0).used == 5
    assert rows.apply(block, numbers, 10, 0).used == 1
    assert rows.apply(block, numbers, 1 << 20, 0).used == 50
    assert rows.why == ""


def test_given_big_results_then_blocks_stay_small() -> None:
    ds = ps.Dataset.range(200).map(lambda x: x + np.zeros((64, 1024)))
    with ds.iterate(memory="64MiB") as it:
        for i, x in enumerate(it):
            assert x[0, 0] == i
            del x
        assert it._run.ledger.peak < 16 << 20


def test_given_a_named_tuple_with_methods_then_it_is_called_row_by_row() -> None:
    ds = ps.Dataset.range(5).map(lambda x: x).batch(5).map(lambda x: x[:3])
    assert why_row_by_row(ds) == ""
    made = ps.Dataset.from_tensor_slices(Both(np.arange(4))).map(lambda both: both.twice())
    assert "named tuple" in why_row_by_row(made)
    assert [int(x) for x in made] == [0, 2, 4, 6]


def test_given_objects_then_identity_is_asked_of_each() -> None:
    values = np.array([None, "x", None], object)
    ds = ps.Dataset.from_tensor_slices(np.arange(3)).map(lambda i: (i, values[int(i)]))
    chosen = ds.map(lambda i, v: i if v is None else -i)
    assert [int(x) for x in chosen] == [0, -1, 2]


@pytest.mark.parametrize(
    ("function", "spec"),
    [
        (scaled, ps.TensorSpec((6, 5), np.float32)),
        (lambda x: (x, x.sum()), (ps.TensorSpec((6, 5), np.uint8), ps.TensorSpec((), np.uint64))),
        (lambda x: {"a": x.T, "b": "t"}, {"a": ps.TensorSpec((5, 6), np.uint8), "b": ps.TensorSpec((), str)}),
        (lambda x: ps.random.uniform((2,)), ps.TensorSpec((2,), np.float32)),
        (lambda x: [x[0, 0], x[1, 1]], (ps.TensorSpec((), np.uint8), ps.TensorSpec((), np.uint8))),
    ],
)
def test_given_a_pure_function_then_the_spec_is_known_before_it_runs(function: Any, spec: Any) -> None:
    ds = ps.Dataset.from_tensor_slices(PIXELS).map(function)
    assert ds.op.spec is not None
    assert ds.op.spec.nest() == spec


def test_given_bytes_passed_on_then_their_spec_is_kept() -> None:
    ds = ps.Dataset.from_tensor_slices((np.arange(3), [b"a", b"b", b"c"])).map(lambda n, w: (w, n * 2.0))
    assert ds.op.spec is not None
    assert ds.op.spec.nest() == (ps.TensorSpec((), bytes), ps.TensorSpec((), np.float64))


def test_given_arrays_that_lie_transposed_then_sums_are_those_of_plain_calls() -> None:
    images = np.random.default_rng(0).random((5, 7, 30), np.float32).transpose(2, 0, 1)
    got = list(ps.Dataset.from_tensor_slices(images).map(lambda x: (x * 0.1).sum()))
    assert same(got, [(x * 0.1).sum() for x in images])


@pytest.mark.parametrize("wrong", [{"map_func": 3}, {"num_parallel_calls": 0}, {"deterministic": 1}])
def test_given_a_wrong_argument_then_declaring_fails_and_names_the_line(wrong: Any) -> None:
    arguments = {"map_func": twice, **wrong}
    with pytest.raises(ps.errors.PenstockError, match=rf"map\({next(iter(wrong))}=\).*test_map\.py:\d+"):
        ps.Dataset.range(3).map(**arguments)
