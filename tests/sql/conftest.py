"""One real PostgreSQL server for all tests of this folder."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from sql import server


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a database that is empty at first."""
    if os.environ.get(server.VARIABLE) == "none":
        pytest.skip(f"{server.VARIABLE}=none")
    if not any((each / "initdb").exists() for each in server.candidates()):
        pytest.fail(server.NOT_FOUND)
    with server.running() as address:
        yield address
