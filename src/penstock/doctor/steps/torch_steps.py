"""Steps of PyTorch: of the optimizer, or else batches of a DataLoader."""

from __future__ import annotations

import sys
from collections.abc import Callable

from penstock.doctor.steps import Source, Tick, wrapped


def _optimizer(tick: Tick) -> Callable[[], None]:
    register = sys.modules["torch.optim.optimizer"].register_optimizer_step_post_hook
    undo: Callable[[], None] = register(lambda *_: tick()).remove
    return undo


def _loader(tick: Tick) -> Callable[[], None]:
    return wrapped(sys.modules["torch.utils.data.dataloader"]._BaseDataLoaderIter, "__next__", tick)


SOURCES = [
    Source("optimizer steps", 1, "torch.optim.optimizer", _optimizer),
    Source("batches of a DataLoader", 5, "torch.utils.data.dataloader", _loader),
]
