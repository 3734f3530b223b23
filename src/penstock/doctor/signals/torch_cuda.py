"""Memory of torch on the device, and pinned memory of the host."""

from __future__ import annotations

import sys

from penstock.doctor.signals import Look, Signal


def allocated(_: Look) -> float | None:
    """Bytes of tensors on the devices that are in use."""
    cuda = sys.modules["torch.cuda"]
    if not cuda.is_initialized():
        return None
    return float(
        sum(cuda.memory_stats(i).get("allocated_bytes.all.current", 0) for i in range(cuda.device_count()))
    )


def pinned(_: Look) -> float | None:
    """Bytes of pinned memory that are in use."""
    cuda = sys.modules["torch.cuda"]
    if not cuda.is_initialized() or not hasattr(cuda, "host_memory_stats"):
        return None
    return float(cuda.host_memory_stats().get("allocated_bytes.current", 0))


SIGNALS = [
    Signal(
        "memory.cuda", "torch-cuda", "bytes", 1 << 20, allocated, needs="torch.cuda", bytes=True, quick=True
    ),
    Signal(
        "memory.pinned", "torch-cuda", "bytes", 1 << 20, pinned, needs="torch.cuda", bytes=True, quick=True
    ),
]
