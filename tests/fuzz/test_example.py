"""Damaged tf.train.Examples: some thousands here, as many as one likes with `python -m fuzz.example`."""

from __future__ import annotations

import pytest

from fuzz import example, sequence_example


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_given_damaged_records_then_what_plain_python_says_or_an_error_comes(seed: int) -> None:
    seen = example.fuzz(5000, seed)
    assert seen["good"] > 500
    assert seen["failed"] > 500


def test_given_merged_features_in_lists_then_what_plain_python_says_or_an_error_comes() -> None:
    seen = sequence_example.fuzz(3000, 1)
    assert seen["good"] > 300
    assert seen["failed"] > 300
