"""What several tests of runs share."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.blocks.block import Block
from penstock.engine.processes import serving as serving_module
from penstock.engine.processes.calls import Workers
from penstock.engine.processes.serving import serving
from penstock.engine.processes.starting import LOADED


@pytest.fixture(scope="module")
def one_server() -> Iterator[None]:
    """Keeps the server of worker processes for all runs of a module, and ends it at once with the last."""
    serving.use()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(serving_module, "LINGER", 0.0)
        yield
        gc.collect()  # errors of a test refer to its run
        serving.leave()
    assert serving._server is None


@pytest.fixture
def no_server(one_server: None) -> Iterator[None]:
    """Nobody keeps it: the server goes with the last run."""
    serving.leave()
    yield
    serving.use()


@pytest.fixture
def ready_server(one_server: None, request: pytest.FixtureRequest) -> None:
    """That server is there from the beginning, with what functions of the test need: workers come at once."""
    needed = [request.module.__name__, *(name for name in sys.modules if name.startswith(LOADED))]
    serving.server().load(needed, lambda: False)


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> dict[int, int]:
    """How many rows worker processes were given at once, by the place of the first."""
    found: dict[int, int] = {}
    apply = Workers.apply

    def watched(self: Workers, block: Block, numbers: Any, room: int, place: int) -> Any:
        found[place] = block.rows
        return apply(self, block, numbers, room, place)

    monkeypatch.setattr(Workers, "apply", watched)
    return found
