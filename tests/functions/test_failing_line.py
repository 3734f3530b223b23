"""The line that the error of a function names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as ps


def singular(n: Any) -> Any:
    return np.linalg.inv(np.zeros((2, 2)) * float(n))


def test_given_a_library_that_raises_then_the_line_is_the_users() -> None:
    with pytest.raises(ps.errors.FunctionError, match=r"test_failing_line\.py:14 in singular"):
        list(ps.Dataset.range(2).map(singular))


def test_given_a_library_alone_then_its_line_is_better_than_none() -> None:
    with pytest.raises(ps.errors.FunctionError, match=r"linalg.*\.py:\d+ in "):
        list(ps.Dataset.from_tensors(np.zeros((2, 2))).map(np.linalg.inv))
