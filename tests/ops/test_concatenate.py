"""`concatenate`."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract
from contract.streams import FAILED, events, failing

Point = namedtuple("Point", ["x", "y"])


class TestConcatenate(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        def rows(n: int, width: int) -> ps.Dataset:
            return ps.Dataset.from_tensor_slices({"a": np.ones((n, width)), "b": [b"x"] * n})

        return {
            "two": lambda: ps.Dataset.range(7).concatenate(ps.Dataset.range(20, 25)),
            "three": lambda: ps.Dataset.range(3).concatenate(
                ps.Dataset.range(3).concatenate(ps.Dataset.range(4))
            ),
            "empty first": lambda: ps.Dataset.range(0).concatenate(ps.Dataset.range(3)),
            "empty second": lambda: ps.Dataset.range(3).concatenate(ps.Dataset.range(0)),
            "other shapes": lambda: rows(5, 2).concatenate(rows(4, 3)),
            "then endless": lambda: ps.Dataset.range(5).concatenate(ps.Dataset.counter()),
        }

    def test_given_two_then_the_second_follows_the_first(self) -> None:
        got = events(ps.Dataset.range(2).concatenate(ps.Dataset.range(7, 9)))
        assert got == [0, 1, 7, 8]

    def test_given_other_shapes_then_the_spec_covers_both(self) -> None:
        two, three = (ps.Dataset.from_tensor_slices(np.ones((4, width))) for width in (2, 3))
        assert two.concatenate(three).element_spec == ps.TensorSpec((None,), "float64")

    def test_given_dicts_with_keys_in_another_order_then_each_value_finds_its_key(self) -> None:
        first = ps.Dataset.from_tensor_slices({"a": [1], "b": [2]})
        second = ps.Dataset.from_tensor_slices({"b": [20], "a": [10]})
        assert events(first.concatenate(second)) == [{"a": 1, "b": 2}, {"a": 10, "b": 20}]

    @pytest.mark.parametrize(
        "other",
        [
            lambda: ps.Dataset.from_tensor_slices(([1], [2])),
            lambda: ps.Dataset.from_tensor_slices({"a": [1]}),
            lambda: ps.Dataset.from_tensor_slices([1.5]),
            lambda: ps.Dataset.from_tensor_slices([b"x"]),
        ],
    )
    def test_given_another_structure_or_dtype_then_declaring_fails_and_names_the_line(
        self, other: Callable[[], ps.Dataset]
    ) -> None:
        with pytest.raises(TypeError, match=r"concatenate at .*test_concatenate\.py:\d+"):
            ps.Dataset.range(3).concatenate(other())

    def test_given_a_tuple_and_a_named_tuple_then_declaring_fails(self) -> None:
        plain = ps.Dataset.from_tensor_slices(([1], [2]))
        with pytest.raises(TypeError, match="Point"):
            plain.concatenate(ps.Dataset.from_tensor_slices(Point([1], [2])))

    def test_given_a_dtype_that_only_the_run_can_know_then_it_fails_there(self) -> None:
        ds = (
            ps.Dataset.range(2)
            .map(lambda x: [x][0])
            .concatenate(ps.Dataset.range(2).map(lambda x: float([x][0])))
        )
        it = iter(ds)
        assert [int(next(it)), int(next(it))] == [0, 1]
        with pytest.raises(TypeError, match=r"expected int64.*got float64"):
            next(it)

    def test_given_no_dataset_then_declaring_fails(self) -> None:
        with pytest.raises(TypeError, match=r"expected a dataset, got 3"):
            ps.Dataset.range(3).concatenate(3)  # type: ignore[arg-type]

    def test_given_failing_elements_then_both_go_on_after_them(self) -> None:
        got = events(failing(3, 2).concatenate(failing(3, 0)))
        assert got == [0, 1, FAILED, FAILED, 1, 2]

    def test_given_lengths_then_the_cardinality_is_tf_datas(self) -> None:
        five, endless = ps.Dataset.range(5), ps.Dataset.counter()
        unknown = five.filter(lambda x: x > 1)
        assert five.concatenate(five).cardinality() == 10
        assert five.concatenate(endless).cardinality() == ps.INFINITE
        assert unknown.concatenate(endless).cardinality() == ps.INFINITE
        assert endless.concatenate(unknown).cardinality() == ps.INFINITE
        assert five.concatenate(unknown).cardinality() == ps.UNKNOWN

    def test_given_options_of_both_then_the_last_word_wins(self) -> None:
        one = ps.Dataset.range(2).with_options(ps.Options(memory="8MiB", seed=1))
        two = ps.Dataset.range(2).with_options(ps.Options(seed=2))
        assert one.concatenate(two).options() == ps.Options(memory="8MiB", seed=2)


@pytest.mark.parametrize("texts", [("a b", "", "c"), ("", "a b", "c")])
def test_given_arrays_of_no_strings_then_they_go_with_arrays_of_strings(texts: tuple[str, ...]) -> None:
    words = [ps.Dataset.from_tensors(np.array(text.split(), dtype=str)) for text in texts]
    split = [ps.Dataset.from_tensors(text).map(lambda x: np.array(x.split(), dtype=str)) for text in texts]
    for first, second, third in (words, split):
        joined = first.concatenate(second).concatenate(third)
        assert [part.tolist() for part in joined] == [text.split() for text in texts]
        joined.element_spec  # noqa: B018
