"""Gives every test of an op contract one run for each of the cases that its class defines."""

from __future__ import annotations

import pytest


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "ds" in metafunc.fixturenames and "case" in metafunc.fixturenames:
        metafunc.parametrize("case", list(metafunc.cls.cases()))
