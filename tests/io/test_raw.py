"""Bytes read as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.streams import outcomes


def test_given_rows_of_one_length_then_a_map_decodes_them_over_the_block_and_knows_its_spec() -> None:
    images = np.arange(20 * 12, dtype=np.uint16).reshape(20, 2, 2, 3)
    ds = ps.Dataset.from_tensor_slices([image.tobytes() for image in images])
    decoded = ds.map(lambda e: ps.io.decode_raw(e, "uint16").reshape(2, 2, 3))
    assert decoded.element_spec == ps.TensorSpec((2, 2, 3), "uint16")
    assert "called over whole blocks" in str(decoded.explain())
    np.testing.assert_array_equal(np.stack(list(decoded)), images)
    halves = ds.map(lambda e: ps.io.decode_raw(e, "uint8", fixed_length=24) / 2)
    assert halves.element_spec == ps.TensorSpec((24,), "float64")
    np.testing.assert_array_equal(np.stack(list(halves)), images.reshape(20, 12).view(np.uint8) / 2)


def test_given_rows_of_several_lengths_then_each_is_decoded() -> None:
    rows = [bytes(range(2 * n)) for n in range(6)]
    ds = ps.Dataset.from_tensor_slices(rows).map(lambda e: ps.io.decode_raw(e, "uint16"))
    assert ds.element_spec == ps.TensorSpec((None,), "uint16")
    for got, row in zip(ds, rows, strict=True):
        assert got.dtype == np.uint16
        assert got.tobytes() == row
    batch = ps.Dataset.from_tensor_slices([b"abcd", b"ef"]).batch(2)
    padded = batch.map(lambda e: ps.io.decode_raw(e, "uint8", fixed_length=3)).get_single_element()
    assert padded.tolist() == [[97, 98, 99], [101, 102, 0]]


def test_given_a_length_that_does_not_fit_then_the_others_arrive() -> None:
    rows = [b"abcd"] * 9
    rows[4] = b"abc"
    found = outcomes(ps.Dataset.from_tensor_slices(rows).map(lambda e: ps.io.decode_raw(e, "int16")))
    assert [isinstance(one, Exception) for one in found] == [i == 4 for i in range(9)]
    assert "expected a multiple of 2 bytes, for int16, got 3" in str(found[4])
    assert found[4].number == 4


def test_given_big_endian_bytes_then_numbers_come_in_the_order_of_the_machine() -> None:
    got = ps.io.decode_raw(b"\x00\x01\x02\x00", "int16", little_endian=False)
    assert got.tolist() == [1, 512]
    assert got.dtype.isnative


def test_given_decoded_bytes_then_they_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        ps.io.decode_raw(b"ab", "uint8")[0] = 1

    def write(e: Any) -> Any:
        x = ps.io.decode_raw(e, "uint8")
        x[0] = 1
        return x

    found = outcomes(ps.Dataset.from_tensor_slices([b"ab"] * 20).map(write))
    assert all("read-only" in str(one) for one in found) and len(found) == 20


def test_given_wrong_arguments_then_the_error_says_so() -> None:
    wrong: list[tuple[Any, str]] = [
        (lambda: ps.io.decode_raw(b"", "object"), "dtype of numbers"),
        (lambda: ps.io.decode_raw(b"", "int32", fixed_length=6), "a multiple of 4"),
        (lambda: ps.io.decode_raw(b"", "int32", fixed_length=0), "at least 1"),
        (lambda: ps.io.decode_raw("text", "uint8"), "expected bytes"),
        (lambda: ps.io.decode_raw(3, "uint8"), "expected bytes"),
        (lambda: ps.io.decode_raw([b"ab", b"c"], "uint8"), "in string 1: expected 2 bytes"),
    ]
    for call, match in wrong:
        with pytest.raises((ps.errors.PenstockError), match=match):
            call()
