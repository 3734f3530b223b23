"""Tensors in pinned memory, for who moves them to a GPU: torch's own memory, on the run's ledger as lent."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.columns import DenseColumn
from penstock.blocks.structure import LEAF
from penstock.engine.handover import run_of
from penstock.engine.iterator import Iterator
from penstock.frameworks.torch_leaves import Convert, tensor_of
from penstock.io.formats.optional import optional

torch: Any = optional("torch", "torch")


def pinned(elements: Iterator) -> Convert:
    """What makes a pinned tensor of an array.

    The memory is torch's, for torch alone knows when a copy to a GPU that somebody has started is done.
    """
    ledger = run_of(elements).ledger
    account = ledger.account("pinned")

    def leaf(array: NDArray[Any]) -> Any:
        source = tensor_of(array)
        if not isinstance(source, torch.Tensor) or source.numel() == 0:
            return source
        made = torch.empty(source.shape, dtype=source.dtype, pin_memory=True)
        made.copy_(source)
        # The tensor that is handed out keeps this array alive, and the ledger sees it go.
        owner = made.view(torch.uint8).numpy() if made.dim() else made.reshape(1).view(torch.uint8).numpy()
        block = Block(LEAF, [DenseColumn(owner[None])], 1)
        account.adopt(block)
        ledger.lend(block)
        return torch.from_numpy(owner).view(source.dtype).reshape(source.shape)

    return leaf
