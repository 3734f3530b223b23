"""Rows that come a few at a time, as they do where they are large or slow."""

from __future__ import annotations

import pytest

from penstock.engine.stage import Stage
from penstock.ops.parts import gathered


def trickle(patch: pytest.MonkeyPatch, few: int, rows: int) -> None:
    """Let every op give at most so many rows at a time, and a batch keep few of them in parts."""
    pull = Stage.pull
    patch.setattr(Stage, "pull", lambda stage, asked: pull(stage, min(asked, rows)))
    patch.setattr(gathered, "FEW", few)
