"""`Dataset.as_torch`: a dataset as an `IterableDataset` of torch."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from mmap import mmap
from typing import Any

from penstock.engine.iterator import Iterator
from penstock.errors import ArgumentError, ArgumentTypeError
from penstock.frameworks.ahead import Ahead, Depth, depth_of
from penstock.frameworks.nests import with_leaves
from penstock.frameworks.passing import Pass, Passes
from penstock.frameworks.reading import Place, Reading, Shared
from penstock.frameworks.torch_leaves import Convert, tensor_of, unfit_leaf
from penstock.frameworks.torch_pinned import pinned
from penstock.frameworks.torch_world import (
    is_sent_to_worker,
    is_worker,
    place_here,
    salt_of_loader,
    with_worker,
)
from penstock.graph import checks
from penstock.io.formats.optional import optional
from penstock.memory.budget import Memory
from penstock.site import user_site

torch: Any = optional("torch", "torch")

CALL = "as_torch"


def as_torch(
    dataset: Shared,
    *,
    device: Any,
    pin_memory: bool | None,
    prefetch: int | str | None,
    shard: str | None,
    remainder: str,
    writable: bool,
    memory: Memory | None,
    seed: int | None,
) -> TorchDataset:
    """The dataset for torch, once its arguments have been checked."""
    call = CALL
    where = _device(device)
    if pin_memory is not None:
        checks.flag(pin_memory, f"{call}(pin_memory=)")
    checks.flag(writable, f"{call}(writable=)")
    if where.type == "cpu" and prefetch is not None:
        raise ArgumentError(
            f"{call}(prefetch=) at {user_site()}: expected a device to fetch ahead to, got none. On the CPU, "
            f"use ds.prefetch."
        )
    if pin_memory and not torch.cuda.is_available():
        raise ArgumentError(f"{call}(pin_memory=) at {user_site()}: expected a GPU, found none.")
    spec = dataset.op.spec
    for leaf in () if spec is None else spec.leaves:
        if why := unfit_leaf(leaf):
            raise ArgumentTypeError(f"{call} at {user_site()}: {why}.")
    reading = Reading(dataset, call, shard=shard, remainder=remainder, memory=memory, seed=seed)
    return TorchDataset(reading, where, pin_memory, depth_of(prefetch, call), writable)


def _device(device: Any) -> Any:
    try:
        found = torch.device("cpu" if device is None else device)
    except (RuntimeError, TypeError) as error:
        raise ArgumentError(f"as_torch(device=) at {user_site()}: {error}") from None
    if found.type == "cuda":
        if not torch.cuda.is_available():
            raise ArgumentError(
                f"as_torch(device=) at {user_site()}: expected a GPU for {device!r}, found none."
            )
        if found.index is None:
            found = torch.device("cuda", torch.cuda.current_device())
    return found


class TorchDataset(Passes, torch.utils.data.IterableDataset):  # type: ignore[misc]
    """A dataset whose passes give tensors; what `ds.as_torch()` returns."""

    def __init__(self, reading: Reading, device: Any, pin: bool | None, depth: Depth, writable: bool) -> None:
        super().__init__(reading)
        self._device = device
        self._pin = pin
        self._depth = depth
        self._writable = writable
        self._fixed: Place | None = None
        self._elsewhere = mmap(-1, 1)
        """Whether the latest pass was begun by workers of a DataLoader: forked ones share this byte."""

    def __iter__(self) -> Pass:
        place, device = with_worker(self._place()), self._device
        if place.workers > 1 and device.type != "cpu":
            raise ArgumentError(
                f"as_torch(device={str(device)!r}): expected num_workers=0 in the DataLoader, got "
                f"{place.workers}. Penstock has threads of its own."
            )
        self._elsewhere[0] = is_worker()
        elements, epoch = self._reading.start(place, salt_of_loader() if place.alone else 0)
        leaf = self._leaf(elements)
        ahead = self._to_gpu(elements) if device.type == "cuda" else None
        return self._noted(Pass(elements, epoch, lambda element: with_leaves(element, leaf), ahead, CALL))

    def _leaf(self, elements: Iterator) -> Convert:
        """What makes a tensor of an array."""
        device = self._device
        if self._pin:
            return pinned(elements)
        if device.type == "cpu":
            return partial(tensor_of, writable=True) if self._writable else tensor_of
        return lambda array: _moved(tensor_of(array), device)

    def _to_gpu(self, elements: Iterator) -> Ahead:
        from penstock.frameworks.torch_cuda import CudaCarrier

        device, pin = self._device, self._pin is not False
        return Ahead(
            elements, lambda run: CudaCarrier(run, device, pin), self._depth, f"penstock-to-{device}"
        )

    def _place(self) -> Place:
        return self._fixed or place_here()

    def state_dict(self) -> dict[str, Any]:
        """Where the latest pass stands, or stood when it was left: plain data for `load_state_dict`."""
        if self._elsewhere[0]:
            raise ArgumentError(
                f"state_dict at {user_site()}: expected num_workers=0 in the DataLoader. Its workers read "
                f"this feed, and where they stand is not known here. Penstock has workers of its own."
            )
        return super().state_dict()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Have the next pass go on where another one stood."""
        super().load_state_dict(state_dict)
        self._elsewhere[0] = False

    def __getstate__(self) -> dict[str, Any]:
        if self._latest is None or self._latest.over:
            self._elsewhere[0] |= is_sent_to_worker()
        # A worker that is started anew, and not forked, knows nothing of torch.distributed.
        return {**self.__dict__, "_fixed": self._place(), "_latest": None, "_elsewhere": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._elsewhere = mmap(-1, 1)


def _moved(leaf: Any, device: Any) -> Any:
    return leaf.to(device) if isinstance(leaf, torch.Tensor) else leaf
