"""`cache`: elements are made once, and read again in later epochs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.blocks.block import Block
from penstock.blocks.spec import Spec
from penstock.errors import ArgumentTypeError, ElementError
from penstock.graph.fingerprint import UNSEEN, fingerprint
from penstock.graph.op import Op
from penstock.graph.running import Context, Input, Running
from penstock.memory.locked import read_only
from penstock.ops.parts.cachestore import CacheStore, stand_in

SUFFIX = ".rows"
"""What the name of a cache's file ends with."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Cache(Op):
    """Keeps what comes; with a `filename`, in a file that outlives the process."""

    filename: str = ""
    store: CacheStore = field(default_factory=CacheStore, repr=False, metadata=UNSEEN)
    """The one mutable thing: it belongs to the dataset, and all its runs share it."""

    name = "cache"
    tuning = frozenset({"filename"})
    parted = "evenly"

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "filename", os.fspath(self.filename))
        except TypeError:
            raise ArgumentTypeError(
                self.fail(f"expected a file's name, or nothing, got {self.filename!r}.")
            ) from None
        if self.filename:
            # Shards would write their parts to one file.
            object.__setattr__(self, "parted", "")

    def over(self, *inputs: Op) -> Cache:
        return self.changed(inputs=inputs, store=CacheStore())  # what is stored is of the other input

    @property
    def stored(self) -> int | None:
        return self.store.epoch

    def go_on_with(self, epoch: int) -> None:
        self.store.go_on_with(epoch)

    def start(self, context: Context) -> Running:
        return RunningCache(self, context)

    def find_spec(self) -> Spec | None:
        return self.inputs[0].spec

    def find_cardinality(self) -> int:
        return self.inputs[0].cardinality


def _seeds(ops: tuple[Op, ...]) -> Iterator[int]:
    for op in ops:
        yield op.own_seed
        yield from _seeds(op.inputs)


class RunningCache(Running):
    """Reads what is stored; at its end goes on with the input, and stores what comes.

    A run that goes on in the middle of a pass, in a process that has stored nothing, only passes on the rest
    of it: the next pass stores all. Where the pass before had stored all, it is made and stored again.
    """

    exact = True

    def __init__(self, op: Cache, context: Context) -> None:
        self._op = op
        self._context = context
        self._store = op.store
        self._at = 0
        self._failed = 0  # of the failed elements, how many this run has raised
        self._upstream: Input | None = None
        self._upstream_at = 0
        self._upstream_failed = 0
        self._passes_on = False
        if op.filename:
            path = Path(op.filename + SUFFIX).absolute()
            self._store.use_file(path, fingerprint(op.inputs[0]), op.fail(""))
        keys = (context.key(seed, explicit=False, each_epoch=False) for seed in (0, *_seeds(op.inputs)))
        self._seeds = hash(tuple(keys))
        """What decides, with the epoch, what comes of all that is random before it."""
        self._store.enter(self, context, self._seeds)

    def state(self) -> Any:
        level = (self._upstream_at, self._upstream_failed) == (self._at, self._failed)
        upstream = self._upstream.state() if self._upstream is not None and level else None
        return {"at": self._at, "failed": self._failed, "epoch": self._store.epoch, "input": upstream}

    def restore(self, state: Any) -> None:
        self._at, self._failed = state["at"], state["failed"]
        if not self._store.empty and not self._store.holds(state["epoch"], self._seeds):
            # Another pass is stored, of other elements maybe: this run, whose op this is, begins anew.
            self._store.leave(self)
            self._store = CacheStore()
            object.__setattr__(self._op, "store", self._store)
            self._store.enter(self, self._context, self._seeds)
        with self._store.lock:
            if self._store.empty:
                self._store.epoch = state["epoch"]
                self._passes_on = state["input"] is not None
        if self._passes_on:
            self._upstream = self._context.input(epoch=state["epoch"])
            self._upstream.restore(state["input"])
            self._upstream_at, self._upstream_failed = self._at, self._failed

    def _pass_on(self, rows: int) -> Block | None:
        assert self._upstream is not None
        try:
            block = self._upstream.pull(rows)
        except ElementError:
            self._failed = self._upstream_failed = self._failed + 1
            raise
        if block is None:
            return None
        self._at = self._upstream_at = self._at + block.rows
        return read_only(block)

    def pull(self, rows: int) -> Block | None:
        if self._passes_on:
            return self._pass_on(rows)
        while True:
            store = self._store
            with store.lock:
                stop = store.rows
                if self._failed < len(store.errors):
                    stop, error = store.errors[self._failed]
                    if stop == self._at:
                        self._failed += 1
                        raise stand_in(error)
                if self._at < stop:
                    block = store.read(self._at, min(rows, stop - self._at))
                    self._at += block.rows
                    return block
                if store.complete:
                    return None
            fresh = self._advance(rows)
            if fresh is not None:
                return fresh

    def _advance(self, rows: int) -> Block | None:
        """Pull from the input once; the block, if it is just what comes next."""
        store, first = self._store, self._upstream_at
        if self._upstream is None:
            self._upstream = self._context.input(epoch=store.epoch)
        behind = store.rows - first
        try:
            # Not under the lock: another run may read meanwhile. What both make is the same.
            block = self._upstream.pull(min(behind, self._skip_rows()) if behind > 0 else rows)
        except ElementError as error:
            with store.lock:
                fresh = self._upstream_failed == len(store.errors)
                self._upstream_failed += 1
                if not fresh:
                    return None  # it is stored, and is raised when its turn comes
                store.errors.append((first, stand_in(error)))
                if self._upstream_failed <= self._failed:
                    return None  # raised before the state that this run goes on from
                self._failed = self._upstream_failed
            raise
        with store.lock:
            if block is None:
                store.finish(self._context)
                return None
            self._upstream_at = last = first + block.rows
            if store.rows >= last:
                return None
            rest = block.slice(store.rows - first, block.rows)
            store.append(rest)
            if self._at != last - rest.rows:
                return None
            self._at = last
            return read_only(rest)

    def _skip_rows(self) -> int:
        """How many stored rows to ask for at once, only to pass them."""
        return self._context.rows_for(self._store.row_bytes)

    def close(self) -> None:
        self._store.leave(self)
