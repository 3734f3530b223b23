"""Which part of a dataset this process reads, and in which epoch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self

from penstock.engine.iterator import Iterator
from penstock.errors import ArgumentError
from penstock.frameworks.declared import Declared
from penstock.graph import checks
from penstock.graph.op import Op
from penstock.memory.budget import Memory, resolve_budget
from penstock.ops.parts.sharding import FILE, WAYS
from penstock.ops.parts.terminals import length
from penstock.ops.shard import KEEP, REMAINDERS
from penstock.options import Options
from penstock.site import user_site
from penstock.state.saved import FEED, unpacked


class Shared(Declared, Protocol):
    """A dataset that can be shared out."""

    op: Op
    _options: Options
    _epochs: int

    def iterate(
        self,
        memory: Memory | None = None,
        seed: int | None = None,
        epoch: int | None = None,
        state: Any = None,
    ) -> Iterator:
        """Start a run, or go on with one."""

    def shard(self, num_shards: int, index: int, *, by: str, remainder: str) -> Self:
        """The part of one of several processes."""


@dataclass(frozen=True)
class Place:
    """Which process this is of those that read a dataset together, and which of its workers."""

    rank: int = 0
    world: int = 1
    worker: int = 0
    workers: int = 1
    alone: bool = True
    """Whether no other process needs the same order, though it may read the same part."""


class Reading:
    """Starts the runs of one feed: each over the part of its place, in the next epoch."""

    def __init__(
        self,
        dataset: Shared,
        call: str,
        *,
        shard: str | None,
        remainder: str,
        memory: Memory | None,
        seed: int | None,
    ) -> None:
        if shard is not None:
            checks.one_of(shard, WAYS, f"{call}(shard=)")
        checks.one_of(remainder, REMAINDERS, f"{call}(remainder=)")
        if remainder != KEEP and shard in (None, FILE):
            raise ArgumentError(
                f"{call}(remainder=) at {user_site()}: expected 'keep' with shard={shard!r}, got "
                f"{remainder!r}. Equal steps need shard='auto' or shard='element'."
            )
        checks.seed(seed, f"{call}(seed=)")
        resolve_budget(memory, dataset._options, call=f"{call}(memory=) at {user_site()}")
        self.dataset = dataset
        self._shard = shard
        self._remainder = remainder
        self._memory = memory
        self._seed = seed
        self._epoch: int | None = None
        """The number of the next pass, where somebody has said one; else the dataset counts."""
        self._saved: Mapping[str, Any] | None = None
        self._loaded = ""
        self._parts: dict[Place, Shared] = {}

    def part(self, place: Place) -> Shared:
        """What the process at a place reads; the same dataset each time, as it may have a cache."""
        if self._shard is None:
            place = Place(worker=place.worker, workers=place.workers, alone=place.alone)
        if place not in self._parts:
            part, by = self.dataset, self._shard or "auto"
            if place.world > 1:
                part = part.shard(place.world, place.rank, by=by, remainder=self._remainder)
            if place.workers > 1:
                part = part.shard(place.workers, place.worker, by=by, remainder=KEEP)
            self._parts[place] = part
        return self._parts[place]

    def start(self, place: Place, salt: int = 0) -> tuple[Iterator, int]:
        """The next run, and the number of its epoch. `salt` tells passes apart that cannot be counted."""
        part, memory = self.part(place), self._memory
        if place.workers > 1:  # they share what one process would have
            memory = resolve_budget(memory, self.dataset._options).total // place.workers
        saved, self._saved = self._saved, None
        if saved is not None:
            self._epoch = int(saved["epoch"])
        epoch = self._next_epoch(salt)
        if saved is not None and saved["state"] is not None:
            return self._going_on(part, memory, saved["state"]), epoch
        return part.iterate(memory=memory, seed=self._seed_for(place), epoch=epoch), epoch

    def _going_on(self, part: Shared, memory: Memory | None, state: Any) -> Iterator:
        try:
            return part.iterate(memory=memory, state=state)
        except ArgumentError as error:
            error.add_note(f"The state is the one that load_state_dict was given at {self._loaded}.")
            raise

    def _next_epoch(self, salt: int) -> int:
        if self._epoch is None:
            return self.dataset._next_epoch() + salt
        self._epoch += 1
        return self._epoch - 1

    def _seed_for(self, place: Place) -> int | None:
        """All processes need one order: what has no seed anywhere gets one that is the same for all."""
        if self._seed is None and self.dataset._options.seed is None and not place.alone:
            return 0
        return self._seed

    def set_epoch(self, epoch: int) -> None:
        """The number of the next pass; those after it count on."""
        self._epoch = checks.count(epoch, "set_epoch(epoch=)", least=0)

    def load(self, saved: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` gave, at the next pass."""
        if not isinstance(saved, Mapping) or not set(saved) >= FEED:
            raise ArgumentError(
                f"load_state_dict at {user_site()}: expected what state_dict() gave, got {saved!r:.80}."
            )
        if "penstock" in saved:
            raise ArgumentError(
                f"load_state_dict at {user_site()}: expected what state_dict() of a feed gave, got what "
                f"it.state() of an iteration gave. Go on with that by ds.iterate(state=...)."
            )
        if saved["state"] is not None:
            unpacked(saved["state"])
        self._saved, self._loaded = saved, str(user_site())

    def unstarted(self) -> dict[str, Any]:
        """The state before the first pass, or between two."""
        if self._saved is not None:
            return dict(self._saved)
        return {"epoch": self.dataset._epochs if self._epoch is None else self._epoch, "state": None}

    def length(self, place: Place) -> int:
        """How many elements a pass has here; TypeError if that is not known."""
        return length(self.part(place).op)
