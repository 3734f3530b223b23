"""Gives every test of an op contract one run for each of the cases that its class defines."""

from __future__ import annotations

import pytest
from hypothesis import settings

# A kernel that is compiled at its first call takes seconds there.
settings.register_profile("penstock", deadline=None)
settings.load_profile("penstock")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "ds" in metafunc.fixturenames and "case" in metafunc.fixturenames:
        metafunc.parametrize("case", list(metafunc.cls.cases()))
