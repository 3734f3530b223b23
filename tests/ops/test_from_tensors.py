"""`Dataset.from_tensors`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract, same
from contract.streams import events


class TestFromTensors(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        return {
            "number": lambda: ps.Dataset.from_tensors(3),
            "array": lambda: ps.Dataset.from_tensors(np.arange(6).reshape(2, 3)),
            "nest": lambda: ps.Dataset.from_tensors({"a": (1, b"x"), "b": ["y", "zz"]}),
            "repeated": lambda: ps.Dataset.from_tensors((1.5, "x")).repeat(5),
        }

    def test_given_values_then_they_are_one_element(self) -> None:
        assert events(ps.Dataset.from_tensors([1, 2, 3])) == [[1, 2, 3]]
        assert events(ps.Dataset.from_tensors(([1, 2], {"a": 3}))) == [([1, 2], {"a": 3})]
        assert events(ps.Dataset.from_tensors(b"whole")) == [b"whole"]

    def test_given_python_numbers_then_they_are_numpys(self) -> None:
        assert same(list(ps.Dataset.from_tensors((3, 0.5))), [(np.int64(3), np.float64(0.5))])

    def test_given_an_array_then_it_is_neither_copied_nor_writable(self) -> None:
        data = np.arange(6)
        (element,) = ps.Dataset.from_tensors(data)
        assert np.shares_memory(element, data)
        assert not element.flags.writeable

    def test_given_an_array_then_it_is_on_no_account(self) -> None:
        with ps.Dataset.from_tensors(np.zeros(100_000)).iterate() as it:
            next(it)
            assert it._run.ledger.peak == 0

    def test_given_values_then_the_spec_and_the_length_are_known(self) -> None:
        ds = ps.Dataset.from_tensors(([1, 2], {"a": "x"}))
        assert ds.element_spec == (ps.TensorSpec((2,), "int64"), {"a": ps.TensorSpec((), str)})
        assert len(ds) == 1

    def test_given_nothing_then_declaring_fails_and_names_the_line(self) -> None:
        with pytest.raises(TypeError, match=r"from_tensors at .*test_from_tensors\.py:\d+"):
            ps.Dataset.from_tensors(())
