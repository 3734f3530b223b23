"""Which process of a training this is, as torch and those above it say."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from multiprocessing.context import get_spawning_popen
from types import FrameType
from typing import Any

from penstock.frameworks.reading import Place
from penstock.io.formats.optional import optional

torch: Any = optional("torch", "torch")


def place_here() -> Place:
    """The place of this process among those that train together, but for workers of a DataLoader.

    Where Accelerate deals out what is read, all is read; every process in one order, if several read.
    """
    rank, world = _rank_and_world()
    if _dealt_out_by_accelerate():
        return Place(alone=world == 1)
    return Place(rank, world, alone=world == 1)


def with_worker(place: Place) -> Place:
    """The same place, or that of the worker of a DataLoader which this process is."""
    info = torch.utils.data.get_worker_info()
    return place if info is None else replace(place, worker=info.id, workers=info.num_workers)


def is_worker() -> bool:
    """Whether this process is a worker of a DataLoader."""
    return torch.utils.data.get_worker_info() is not None


def is_sent_to_worker() -> bool:
    """Whether what is just being pickled goes to a process that is started for it."""
    return get_spawning_popen() is not None


def _rank_and_world() -> tuple[int, int]:
    """The number of this process and how many there are: of `torch.distributed`, or of its launcher."""
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    rank, world = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    if rank.isdigit() and world.isdigit() and int(rank) < int(world):
        return int(rank), int(world)
    return 0, 1


def _dealt_out_by_accelerate() -> bool:
    """Whether a data loader that `accelerator.prepare` made is asking. It tells nobody but by being there."""
    if "accelerate.data_loader" not in sys.modules:
        return False
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__") == "accelerate.data_loader":
            return True
        frame = frame.f_back
    return False


def salt_of_loader() -> int:
    """A number that differs from one pass of a DataLoader with workers to the next, the same in all of them.

    Such a pass has workers of its own, which cannot count the passes.
    """
    info = torch.utils.data.get_worker_info()
    return 0 if info is None else (int(info.seed) - int(info.id)) & ((1 << 60) - 1)
