"""Elements to a GPU: through pinned staging buffers of the run's pool, on a stream of their own."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.engine.run import Run
from penstock.frameworks.nests import arrays_of, with_leaves
from penstock.frameworks.passing import converted
from penstock.frameworks.torch_leaves import tensor_of
from penstock.io.formats.optional import optional
from penstock.memory.pages import PAGE
from penstock.memory.pool import SMALLEST

torch: Any = optional("torch", "torch")

SLOTS = 2
"""Staging buffers: one is filled while the other is copied. With a tight budget there is but one."""
APART = 256
"""Leaves begin at multiples of so many bytes of a staging buffer."""
RUNNING = 2
"""So many elements may be with the user whose work the GPU has not done; only then comes another."""


class Slot:
    """One staging buffer, and the copy that was last made of it."""

    def __init__(self, memory: NDArray[np.uint8], pin: bool) -> None:
        self.memory = memory
        self._address = memory.ctypes.data
        runtime = torch.cuda.cudart()
        self.is_pinned = pin and int(runtime.cudaHostRegister(self._address, memory.nbytes, 0)) == 0
        self.copied: Any = None

    def wait(self) -> None:
        """Wait until the GPU has what was in it."""
        if self.copied is not None:
            self.copied.synchronize()

    def close(self) -> None:
        """Give the memory back, once it is no longer read."""
        self.wait()
        if self.is_pinned:
            self.is_pinned = False
            torch.cuda.cudart().cudaHostUnregister(self._address)


class Staging:
    """The staging buffers of a run, in turn; they are on its ledger."""

    def __init__(self, run: Run, device: Any, pin: bool) -> None:
        self._run = run
        self._account = run.ledger.account(f"to {device}")
        self._pin = pin
        self._slots: deque[Slot] = deque()

    def slot(self, size: int) -> Slot:
        """A buffer of at least that size, whose last copy is done."""
        size = max(SMALLEST, -(-size // PAGE) * PAGE)
        if self._slots and self._slots[0].memory.nbytes < size:
            self.close()  # elements have grown: all of them are to be larger
        if not self._slots or (len(self._slots) < SLOTS and self._run.ledger.room(self._account) >= size):
            self._slots.append(self._made(size))
            self._slots.rotate(1)
        else:
            self._slots.rotate(-1)
        slot = self._slots[0]
        slot.wait()
        return slot

    def _made(self, size: int) -> Slot:
        self._account.need(size, "Make batches smaller, so that one fits on its way to the GPU.")
        return Slot(self._run.pool.empty(self._account, size, np.uint8), self._pin)

    def close(self) -> None:
        """Give all of them back."""
        while self._slots:
            self._slots.pop().close()


class CudaCarrier:
    """Copies elements to a GPU, each leaf to memory of its own there."""

    def __init__(self, run: Run, device: Any, pin: bool) -> None:
        self._device = device
        self._stream = torch.cuda.Stream(device)
        self._staging = Staging(run, device, pin)
        self._given: Any = None
        """The element that was handed over last: its work is not all known yet."""
        self._running: deque[Any] = deque()

    def bytes_of(self, element: Any) -> int:
        """The bytes of all leaves, each from a place where it may begin."""
        return sum(-(-array.nbytes // APART) * APART for array in arrays_of(element))

    def put(self, element: Any) -> tuple[Any, Any]:
        """Start the copy; the tensors, and the event of its end."""
        self._wait_for_work()
        slot = self._staging.slot(self.bytes_of(element))
        at = 0

        def leaf(array: NDArray[Any]) -> Any:
            nonlocal at
            if array.dtype.char in "OSU":
                return array.tolist()
            room = slot.memory[at : at + array.nbytes].view(array.dtype).reshape(array.shape)
            np.copyto(room, array)
            at += -(-array.nbytes // APART) * APART
            return tensor_of(room).to(self._device, non_blocking=True)

        with torch.cuda.device(self._device), torch.cuda.stream(self._stream):
            try:
                tensors = converted(element, lambda one: with_leaves(one, leaf), "as_torch")
            finally:
                slot.copied = torch.cuda.Event()
                slot.copied.record(self._stream)
        return tensors, slot.copied

    def _wait_for_work(self) -> None:
        """Let the user's code be ahead of the GPU by no more than a few elements: they hold its memory."""
        while len(self._running) > RUNNING:
            self._running.popleft().synchronize()

    def hand_over(self, put: tuple[Any, Any]) -> Any:
        """The tensors, for the stream that is current where they are used."""
        tensors, copied = put
        stream = torch.cuda.current_stream(self._device)
        if self._given is not None:
            done = torch.cuda.Event()
            done.record(stream)  # behind all work on the element before
            self._running.append(done)
        self._given = copied
        stream.wait_event(copied)
        _each_tensor(tensors, lambda tensor: tensor.record_stream(stream))
        return tensors

    def close(self) -> None:
        """Give the staging buffers back."""
        self._staging.close()


def _each_tensor(nest: Any, use: Any) -> None:
    if isinstance(nest, torch.Tensor):
        use(nest)
    elif isinstance(nest, dict):
        for part in nest.values():
            _each_tensor(part, use)
    elif isinstance(nest, tuple):
        for part in nest:
            _each_tensor(part, use)
