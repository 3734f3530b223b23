"""`Options`: what it takes, and what it says of the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as ps


@pytest.mark.parametrize("wrong", ["fuse_maps", 3])
def test_given_no_list_of_passes_then_the_error_says_what_was_expected(wrong: Any) -> None:
    with pytest.raises(ps.errors.ArgumentTypeError, match=r"optimize=\): expected True, False, or a list"):
        ps.Options(optimize=wrong)


@pytest.mark.parametrize("wrong", [["fuse"], [3]])
def test_given_a_pass_that_is_none_then_the_error_names_those_that_are(wrong: Any) -> None:
    with pytest.raises(ps.errors.ArgumentError, match=r"no pass is called .*the passes are fuse_maps, "):
        ps.Options(optimize=wrong)


@pytest.mark.parametrize("said", [{"seed": 1.5}, {"seed": True}, {"block_rows": "3"}, {"memory": 1.5}])
def test_given_no_whole_number_then_it_is_refused(said: Any) -> None:
    with pytest.raises(ps.errors.ArgumentTypeError, match=rf"Options\({next(iter(said))}=\): expected "):
        ps.Options(**said)


def test_given_numbers_of_numpy_then_they_are_pythons() -> None:
    options = ps.Options(seed=np.int64(3), block_rows=np.uint8(4))  # type: ignore[arg-type]
    assert (type(options.seed), type(options.block_rows)) == (int, int)


def test_given_none_as_in_tf_data_then_prefetch_and_shuffle_take_their_defaults() -> None:
    ds = ps.Dataset.range(9).shuffle(9, seed=1, reshuffle_each_iteration=None).prefetch(None)
    first, second = ([int(x) for x in ds] for _ in range(2))
    assert sorted(first) == sorted(second) == list(range(9))
    assert first != second
