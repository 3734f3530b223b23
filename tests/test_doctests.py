"""Every example in a docstring runs and gives what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import penstock

MODULES = ["penstock"] + [module.name for module in pkgutil.walk_packages(penstock.__path__, "penstock.")]


@pytest.mark.parametrize("name", MODULES)
def test_given_the_examples_of_a_module_then_they_hold(name: str) -> None:
    outcome = doctest.testmod(
        importlib.import_module(name), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    assert outcome.failed == 0
