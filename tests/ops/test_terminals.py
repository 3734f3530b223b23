"""What a dataset says of itself: its length, its spec, its single element, its name."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.streams import failing


def opaque(x: Any) -> Any:
    """A function of which only a call tells what it returns."""
    return {"n": int(x), "w": np.zeros(3, np.float32)}


def test_given_a_known_length_then_len_tells_it() -> None:
    assert len(ps.Dataset.range(10).batch(4)) == 3
    assert len(ps.Dataset.range(0)) == 0


def test_given_no_end_or_an_unknown_one_then_len_raises_type_error() -> None:
    with pytest.raises(TypeError, match=r"counter at .*test_terminals\.py:\d+"):
        len(ps.Dataset.counter())
    with pytest.raises(TypeError, match="assert_cardinality"):
        len(ps.Dataset.range(3).filter(lambda x: True))


def test_given_any_dataset_then_it_is_true() -> None:
    assert ps.Dataset.range(0)
    assert ps.Dataset.counter()


def test_given_a_list_of_it_then_an_unknown_length_does_not_matter() -> None:
    assert [int(x) for x in list(ps.Dataset.range(3).filter(lambda x: x > 0))] == [1, 2]


def test_given_a_static_spec_then_no_element_is_made() -> None:
    ds = ps.Dataset.from_generator(
        lambda: 1 // 0,  # type: ignore[arg-type, return-value]
        output_signature=(ps.TensorSpec((None,), "int8"), ps.TensorSpec((), bytes)),
    )
    assert ds.batch(2).element_spec == (
        ps.TensorSpec((None, None), "int8"),
        ps.TensorSpec((None,), bytes),
    )


def test_given_no_static_spec_then_the_first_element_tells_and_is_made_once() -> None:
    made = []

    def generate() -> Any:
        made.append(True)
        yield opaque(1)

    ds = ps.Dataset.from_generator(generate)
    expected = {"n": ps.TensorSpec((), "int64"), "w": ps.TensorSpec((None,), "float32")}
    assert [ds.element_spec, ds.element_spec] == [expected] * 2
    assert made == [True]
    assert pickle.loads(pickle.dumps(ps.Dataset.range(2).map(opaque))).element_spec == expected


def test_given_a_later_element_of_another_shape_then_the_spec_covers_it() -> None:
    vectors = [np.zeros((2, 3)), np.zeros((2, 3)), np.zeros((4, 5))]
    ds = ps.Dataset.from_generator(lambda: iter(vectors))
    assert ds.element_spec == ps.TensorSpec((None, None), "float64")


def test_given_a_first_element_that_fails_then_the_next_tells() -> None:
    assert failing(3, 0, 1).element_spec == ps.TensorSpec((), "int64")


def test_given_no_element_to_tell_the_spec_then_it_raises() -> None:
    with pytest.raises(ps.errors.CardinalityError, match="element_spec"):
        _ = ps.Dataset.from_generator(lambda: iter(())).element_spec


def test_given_only_elements_that_fail_then_the_spec_says_why() -> None:
    with pytest.raises(ps.errors.CardinalityError, match=r"all failed, the first with: .*ZeroDivision"):
        ps.Dataset.range(3).map(lambda x: 1 // 0).element_spec  # noqa: B018


def test_given_one_element_then_get_single_element_gives_it() -> None:
    assert int(ps.Dataset.range(7, 8).get_single_element()) == 7


@pytest.mark.parametrize("count, came", [(0, "got none"), (2, "got more")])
def test_given_none_or_more_then_get_single_element_raises(count: int, came: str) -> None:
    with pytest.raises(ps.errors.CardinalityError, match=came):
        ps.Dataset.range(count).get_single_element()


def test_given_as_numpy_iterator_then_the_elements_are_numpys() -> None:
    got = list(ps.Dataset.from_tensor_slices(([1], [2.5])).as_numpy_iterator())
    assert [tuple(type(part) for part in element) for element in got] == [(np.int64, np.float64)]


def test_given_a_dataset_then_its_repr_names_the_ops_and_the_spec() -> None:
    a = ps.Dataset.range(4).batch(2)
    assert repr(a) == "<Dataset range.batch element_spec=TensorSpec(shape=(2,), dtype=int64)>"
    both = ps.Dataset.zip(a, ps.Dataset.range(2)).take(1)
    assert repr(both).startswith("<Dataset zip(range.batch, range).take element_spec=(Tensor")
    generated = ps.Dataset.from_generator(lambda: iter(()))
    assert repr(generated) == "<Dataset from_generator element_spec=unknown>"
