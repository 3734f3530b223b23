"""Blocks and pipelines on their way through the object store."""

from __future__ import annotations

import pickle
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.pack import Packed, pack, unpack_views
from penstock.engine.processes.travel import dumps
from penstock.errors import PenstockError

MODULES = 20
"""At most so many modules are found, one after another, to go by value."""


@dataclass(frozen=True)
class Parcel:
    """A block as one array, which Ray hands over without a copy."""

    packed: Packed
    raw: NDArray[np.uint8]
    writable: tuple[bool, ...]
    """For each buffer of the block, whether it may be written to."""
    numbers: NDArray[np.int64] | None

    def views(self) -> Block:
        """The block, as read-only views of the object store."""
        return unpack_views(self.packed, self.raw)

    def copy(self) -> Block:
        """The block as it was where it came from: what could be written to can be."""
        block = unpack_views(self.packed, self.raw.copy())
        for buffer, writable in zip(block.buffers(), self.writable, strict=True):
            buffer.flags.writeable = writable
        return Block(block.structure, block.columns, block.rows, self.numbers)


def parcel_of(block: Block) -> Parcel:
    """A block, ready to be sent."""
    packed, placed = pack(block)
    raw = np.empty(packed.nbytes, np.uint8)
    for offset, array in placed:
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        raw[offset : offset + flat.nbytes] = flat
    writable = tuple(buffer.flags.writeable for buffer in block.buffers())
    return Parcel(packed, raw, writable, block.numbers)


Shipped = tuple[bytes, list[Any]]
"""A pickle, and the large arrays in it."""


class Shipment:
    """Something with functions in it, in the object store for all workers to load."""

    def __init__(self, ray: Any, value: Any, where: str) -> None:
        self._ray = ray
        self._value = value
        self._where = where
        self._by_value: set[str] = set()
        self.nbytes = 0
        self.ref = self._put()

    def _put(self) -> Any:
        arrays: list[Any] = []

        def keep(buffer: pickle.PickleBuffer) -> bool:
            arrays.append(np.frombuffer(buffer.raw(), np.uint8))
            return False

        try:
            pickled = dumps(self._value, self._by_value, keep)
        except PenstockError:
            raise
        except Exception as error:
            raise PenstockError(
                f"{self._where}: the pipeline cannot be brought to another machine: "
                f"{type(error).__name__}: {error}. Make such things inside the function."
            ) from error
        self.nbytes = len(pickled) + sum(array.nbytes for array in arrays)
        return self._ray.put((pickled, arrays))

    def without(self, lacking: Lacking) -> None:
        """Have what a module defines go by value: workers cannot import it."""
        module = lacking.module
        unknown = module not in sys.modules or "site-packages" in (_file_of(module) or "")
        if unknown or module in self._by_value or len(self._by_value) == MODULES:
            raise PenstockError(
                f"{self._where}: the pipeline could not be loaded by a Ray worker: {lacking.said}. Install "
                f"there what it imports, or name it in ray.init(runtime_env=...)."
            )
        self._by_value.add(module)
        self.ref = self._put()


@dataclass(frozen=True)
class Lacking:
    """What a worker answers that could not load something."""

    module: str
    said: str


def loaded(shipped: Shipped) -> Any:
    """What was shipped, or what is lacking to load it."""
    pickled, arrays = shipped
    try:
        return pickle.loads(pickled, buffers=arrays)
    except ImportError as error:
        return Lacking(error.name or "", f"{type(error).__name__}: {error}")
    except Exception as error:  # anything may be wrong with a class of the user's own
        return Lacking("", f"{type(error).__name__}: {error}")


def _file_of(module: str) -> str | None:
    return getattr(sys.modules.get(module), "__file__", None)
