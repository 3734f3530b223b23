"""TensorFlow, for the tests in this folder alone."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import pytest

from interop.words import PenstockWords, TensorFlowWords, Words

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run these tests last: TensorFlow stays in the process, and others measure theirs."""
    items.sort(key=lambda item: HERE in item.path.parents)


@pytest.fixture(scope="session")
def theirs() -> Words:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own dependencies warn while it is imported
        import tensorflow

        words = TensorFlowWords(tensorflow)
        words.Dataset.range(2).map(lambda x: x + 1).cardinality()
    return words


@pytest.fixture(scope="session")
def ours() -> Words:
    return PenstockWords()
