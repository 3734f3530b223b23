"""The contract of a file whose elements can be read by their numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.spec import Spec


class IndexedFile(ABC):
    """One open file. `DataError` where its bytes are damaged, with the file and the offset."""

    rows: int
    """How many elements it has."""
    spec: Spec
    goes_on = False
    """Whether the elements after a damaged one can be read."""

    @abstractmethod
    def read(self, first: int, stop: int) -> Block:
        """The elements from `first` up to `stop`, or fewer where they fill a block; at least one."""

    @abstractmethod
    def gather(self, index: NDArray[np.int64]) -> Block:
        """The elements of these numbers."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the file. May be called more than once."""
