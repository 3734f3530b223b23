"""What the functions at work have by name is in use, and not lost."""

from __future__ import annotations

import ctypes
import sys

import numpy as np
import pytest

from penstock.doctor.held import Held, arrays_in


def test_given_an_array_by_several_names_then_it_counts_once() -> None:
    whole = np.zeros(1000)
    assert sum(arrays_in({"whole": whole, "part": whole[10:20], "pair": (whole, 3)}).values()) == 8000


def test_given_an_array_over_memory_of_others_then_it_does_not_count() -> None:
    block = (ctypes.c_double * 1000)()
    assert arrays_in({"shown": np.ctypeslib.as_array(block)}) == {}


def test_given_a_record_or_a_text_then_what_it_has_counts() -> None:
    text = "x" * 5000
    found = arrays_in({"row": {"x": np.zeros(100), "y": np.zeros(50)}, "line": text, "again": text, "n": 7})
    assert sum(found.values()) == 1200 + sys.getsizeof(text)


def test_given_rows_of_a_table_then_the_texts_in_them_count() -> None:
    rows = [(step, bytes(1000)) for step in range(3)]
    named = {str(step): {"obs": [np.zeros(100)]} for step in range(2)}
    assert sum(arrays_in({"rows": rows}).values()) == 3 * sys.getsizeof(bytes(1000))
    assert arrays_in({"named": named["0"]}) != {}
    assert sum(arrays_in({"deeper": named}).values()) == 0


def test_given_tensors_then_one_over_the_memory_of_an_array_is_that_array() -> None:
    torch = pytest.importorskip("torch")
    rows = np.zeros(1000)
    assert sum(arrays_in({"rows": rows, "tensor": torch.from_numpy(rows)}).values()) == 8000


def test_given_a_function_that_returns_an_array_then_it_is_held_all_the_way() -> None:
    held, seen = Held(), list[int]()

    def make() -> np.ndarray:
        scratch, made = np.zeros(500), np.zeros(1000)
        held.see(sys._getframe(), made)
        seen.append(held.bytes)
        held.leave(sys._getframe())
        seen.append(held.bytes)
        return made + scratch[0]

    result = make()
    held.see(sys._getframe())
    assert seen == [12_000, 8000]
    assert held.bytes == result.nbytes
