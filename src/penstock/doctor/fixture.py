"""The fixture `no_leak` of pytest: a test that takes it fails where it leaks."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from penstock.doctor.watch import Watch


@pytest.fixture
def no_leak() -> Iterator[Watch]:
    """Watch the test; it fails if something in it grows without end, and warns where that cannot be told."""
    from penstock.doctor.findings import UNCLEAR
    from penstock.doctor.text import show
    from penstock.doctor.watch import Watch

    watch = Watch()
    with watch:
        yield watch
    if watch.leaks:
        pytest.fail(show(watch.diagnosis), pytrace=False)
    if watch.diagnosis.status == UNCLEAR:
        warnings.warn(pytest.PytestWarning(f"no_leak could not tell: {watch.diagnosis.reason}"), stacklevel=1)
