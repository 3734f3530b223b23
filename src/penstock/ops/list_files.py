"""`Dataset.list_files`: the names of the files that patterns match."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.blocks.block import Block
from penstock.blocks.build import column_of
from penstock.blocks.spec import TEXT, Spec, TensorSpec
from penstock.blocks.structure import LEAF
from penstock.errors import ArgumentError, ArgumentTypeError, StoreError
from penstock.graph.op import UNKNOWN, Op
from penstock.graph.running import Context, Running
from penstock.io.stores.listing import list_paths
from penstock.io.stores.opening import is_local
from penstock.site import user_site


def patterns_of(file_pattern: Any) -> tuple[str, ...]:
    """The patterns that a user gave: one, or a list or an array of them."""
    call = f"list_files(file_pattern=) at {user_site()}"
    given = file_pattern
    if isinstance(given, str | bytes | os.PathLike):
        given = [given]
    elif isinstance(given, np.ndarray):
        given = given.ravel().tolist()
    items = list(given) if isinstance(given, Iterable) else [given]
    if not all(isinstance(one, str | bytes | os.PathLike) for one in items):
        raise ArgumentTypeError(f"{call}: expected a pattern or a list of them, got {file_pattern!r}.")
    patterns = tuple(str(os.fsdecode(one)) for one in items)
    if not patterns or not all(patterns):
        raise ArgumentError(f"{call}: expected at least one pattern that is not empty, got {file_pattern!r}.")
    return patterns


@dataclass(frozen=True, eq=False, kw_only=True)
class ListFiles(Op):
    """The names of all files that any of the patterns matches, sorted, each once.

    The patterns are looked at when an iteration begins, and each time anew.
    """

    patterns: tuple[str, ...]
    num_shards: int = 1
    index: int = 0
    """Of the sorted names, every `num_shards`-th from number `index` on."""

    name = "list_files"

    def start(self, context: Context) -> Running:
        return RunningListing(self, context)

    def find_spec(self) -> Spec | None:
        return Spec(LEAF, [TensorSpec((), TEXT)])

    def find_cardinality(self) -> int:
        return UNKNOWN

    def files(self) -> int | None:
        return UNKNOWN

    def with_files(self, num_shards: int, index: int) -> Op:
        return self.changed(num_shards=num_shards, index=index)

    def sources(self) -> Iterable[str]:
        here = [pattern for pattern in self.patterns if is_local(pattern)]
        return sorted({path for pattern in here for path in list_paths(pattern)})


class RunningListing(Running):
    """Looks for the files at the first pull."""

    exact = True

    def __init__(self, op: ListFiles, context: Context) -> None:
        self._op = op
        self._context = context
        self._paths: list[str] | None = None
        self._next = 0

    def pull(self, rows: int) -> Block | None:
        if self._paths is None:
            self._paths = self._found()
        paths = self._paths[self._next : self._next + rows]
        self._next += len(paths)
        return Block(LEAF, [column_of(paths)], len(paths)) if paths else None

    def state(self) -> Any:
        given = (self._paths or [])[: self._next]
        return {"next": self._next, "given": _digest(given)}

    def restore(self, state: Any) -> None:
        self._paths, self._next = self._found(), state["next"]
        if _digest(self._paths[: self._next]) != state["given"]:
            shown = ", ".join(map(repr, self._op.patterns))
            raise StoreError(
                f"{self._context.where}: expected the files that matched {shown} when the state was taken, "
                f"found others among the first {self._next}. Begin anew: ds.iterate().",
                file=self._op.patterns[0],
            )

    def _found(self) -> list[str]:
        paths = sorted({path for pattern in self._op.patterns for path in list_paths(pattern, self._context)})
        if not paths:
            shown = ", ".join(map(repr, self._op.patterns))
            here = any(map(is_local, self._op.patterns))
            relative = f" Patterns are relative to {os.getcwd()!r}:" if here else ""  # noqa: PTH109
            raise StoreError(
                f"{self._context.where}: expected files that match {shown}, found none.{relative} "
                f"{'is' if here else 'Is'} the path right?",
                file=self._op.patterns[0],
            )
        for path in paths:
            try:
                path.encode()
            except UnicodeEncodeError:
                raise StoreError(
                    f"{self._context.where}: expected file names in UTF-8, got {path!r}. Rename the file, or "
                    f"give its name to the dataset that reads it.",
                    file=path,
                ) from None
        return self._own(paths)

    def _own(self, paths: list[str]) -> list[str]:
        shards = self._op.num_shards
        if len(paths) < shards:
            raise StoreError(
                f"{self._context.where}: expected at least {shards} files, one for each shard, found "
                f'{len(paths)}. Write the data to more files, or share out the elements: by="element".',
                file=paths[0],
            )
        return paths[self._op.index :: shards]

    def close(self) -> None:
        self._paths = []


def _digest(names: list[str]) -> int:
    return zlib.crc32("\0".join(names).encode())
