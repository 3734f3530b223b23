"""What several tests of runs share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.engine.processes import serving as serving_module
from penstock.engine.processes.serving import serving


@pytest.fixture(scope="module")
def one_server() -> Iterator[None]:
    """Keeps the server of worker processes for all runs of a module, and ends it at once with the last."""
    serving.use()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(serving_module, "LINGER", 0.0)
        yield
        serving.leave()
    assert serving._server is None
