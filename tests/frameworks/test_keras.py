"""Datasets of Penstock in Keras 3, on each of its backends, in a process each."""

from __future__ import annotations

import sys

import pytest

import penstock as ps
from frameworks.running import LONGEST, names_in, outcomes, started

BACKENDS = ("tensorflow", "torch", "jax")
pytestmark = pytest.mark.timeout(3 * LONGEST)  # the first test waits for whole processes


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("check", names_in("checks_keras.py"))
def test_in_keras(check: str, backend: str) -> None:
    for each in BACKENDS:
        started("checks_keras.py", KERAS_BACKEND=each)
    said = outcomes("checks_keras.py", KERAS_BACKEND=backend)[check]
    assert not said, said


def test_given_no_keras_then_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keras", None)
    with pytest.raises(ps.errors.PenstockError, match=r"pip install '\.\[keras\]'"):
        ps.Dataset.range(3).batch(2).as_keras()
