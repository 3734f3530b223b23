"""One frozen `Options`, passed from the dataset to its runs, never global."""

from __future__ import annotations

import dataclasses
import math
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any

from penstock.errors import ArgumentError, ArgumentTypeError
from penstock.site import user_site

PASSES = ("fuse_maps", "hoist_shuffle", "index_shuffle", "size_blocks")
"""The optimizer's passes, by name."""

LEAST_MEMORY = 4096
"""The smallest budget: a page."""

_UNITS = {
    "": 1,
    "b": 1,
    "k": 1000,
    "kb": 1000,
    "m": 1000**2,
    "mb": 1000**2,
    "g": 1000**3,
    "gb": 1000**3,
    "t": 1000**4,
    "tb": 1000**4,
    "kib": 1 << 10,
    "mib": 1 << 20,
    "gib": 1 << 30,
    "tib": 1 << 40,
}


def parse_bytes(size: int | str, what: str = "a size") -> int:
    """Read a number of bytes: `4096`, `"64MiB"`, `"1.5 GB"`.

    >>> parse_bytes("64MiB")
    67108864
    """
    if not isinstance(size, str) and not _is_whole(size):
        raise ArgumentTypeError(
            f"{what}: expected a number of bytes or a text such as '64MiB', got {size!r}."
        )
    if not isinstance(size, str):
        count = float(size)
    else:
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", size)
        if match is None or match[2].lower() not in _UNITS:
            raise ArgumentError(
                f"{what}: expected a number of bytes or a text such as '64MiB' or '1.5GB', got {size!r}."
            )
        count = float(match[1]) * _UNITS[match[2].lower()]
    if not math.isfinite(count) or count < 1:
        raise ArgumentError(f"{what}: expected at least one byte, got {size!r}.")
    return int(count)


def parse_memory(size: int | str, what: str = "memory=") -> int:
    """Read a budget: a number of bytes, of which a few would be a slip.

    >>> parse_memory("64MiB")
    67108864
    """
    count = parse_bytes(size, what)
    if count < LEAST_MEMORY:
        raise ArgumentError(
            f"{what}: expected at least {LEAST_MEMORY} bytes, got {count}, which holds no block of anything. "
            f"Did you mean '{count}MiB', or {count} << 20?"
        )
    return count


class SharedMemory:
    """A number of bytes that several runs share: what `ps.Budget` is to the options."""

    total: int


@dataclass(frozen=True, kw_only=True)
class Options:
    """How the runs of a dataset behave; attach with `Dataset.with_options`.

    `memory`: the budget, in bytes or as text, or a `ps.Budget` that several runs share.
    `seed`: the seed of everything random that has none of its own. `block_rows`: a fixed number of
    rows a block instead of a measured one.
    `optimize`: True for all passes of the optimizer, False for none, or the names of some.
    `scratch`: the folder for spilled data, instead of the system's. `worker_timeout`: the seconds that a
    worker process may take for one element before it counts as stuck and is replaced; without it, for ever.

    >>> import penstock as ps
    >>> ds = ps.Dataset.range(3).with_options(ps.Options(memory="64MiB"))
    >>> ds.options().memory
    '64MiB'
    """

    memory: int | str | SharedMemory | None = None
    seed: int | None = None
    block_rows: int | None = None
    optimize: bool | tuple[str, ...] | None = None
    scratch: str | None = None
    worker_timeout: float | None = None

    def __post_init__(self) -> None:
        if self.worker_timeout is not None:
            _check_seconds(self.worker_timeout)
        if self.scratch is not None:
            _check_folder(self.scratch)
        if self.memory is not None and not isinstance(self.memory, SharedMemory):
            parse_memory(self.memory, _said("memory"))
        for name in ("seed", "block_rows"):
            number = getattr(self, name)
            if number is not None:
                if not _is_whole(number):
                    raise ArgumentTypeError(f"{_said(name)}: expected an int, got {number!r}.")
                object.__setattr__(self, name, int(number))
        if self.block_rows is not None and self.block_rows < 1:
            raise ArgumentError(f"{_said('block_rows')}: expected at least 1, got {self.block_rows}.")
        if not isinstance(self.optimize, bool | None):
            object.__setattr__(self, "optimize", _passes_of(self.optimize))

    def merged(self, later: Options) -> Options:
        """These options with every field that `later` sets taken from `later`."""
        said = {
            field.name: getattr(later, field.name)
            for field in dataclasses.fields(later)
            if getattr(later, field.name) is not None
        }
        return dataclasses.replace(self, **said)

    def passes(self) -> tuple[str, ...]:
        """The names of the optimizer's passes that are on."""
        if self.optimize is None or self.optimize is True:
            return PASSES
        if self.optimize is False:
            return ()
        return self.optimize


def _said(option: str) -> str:
    return f"Options({option}=) at {user_site()}"


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _passes_of(names: Any) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise ArgumentTypeError(
            f"{_said('optimize')}: expected True, False, or a list of passes, of {', '.join(PASSES)}, "
            f"got {names!r}."
        )
    passes = tuple(names)
    unknown = [name for name in passes if name not in PASSES]
    if unknown:
        raise ArgumentError(
            f"{_said('optimize')}: no pass is called {unknown[0]!r}; the passes are {', '.join(PASSES)}."
        )
    return passes


def _check_seconds(seconds: Any) -> None:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise ArgumentTypeError(f"{_said('worker_timeout')}: expected seconds, got {seconds!r}.")
    if not seconds > 0:
        raise ArgumentError(f"{_said('worker_timeout')}: expected more than 0 seconds, got {seconds!r}.")


def _check_folder(folder: Any) -> None:
    if not isinstance(folder, str | os.PathLike):
        raise ArgumentTypeError(f"{_said('scratch')}: expected the path of a folder, got {folder!r}.")
    if not Path(folder).is_dir() or not os.access(folder, os.W_OK):
        raise ArgumentError(
            f"{_said('scratch')}: expected a folder that can be written to, got {str(folder)!r}."
        )
