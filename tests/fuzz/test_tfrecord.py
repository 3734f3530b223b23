"""Damaged TFRecord files: some thousands here, as many as one likes with `python -m fuzz.tfrecord`."""

from __future__ import annotations

import pytest

from fuzz.tfrecord import fuzz


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_given_damaged_files_then_right_data_or_an_error_with_its_place_comes(seed: int) -> None:
    seen = fuzz(3000, seed)
    assert seen["good"] > 0
    assert seen["failed"] > 1000
