"""The actors of a run: started, given chunks, replaced when they are lost, ended with the run."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from penstock.cluster.chunk import Chunk
from penstock.cluster.travel import Lacking, Shipment
from penstock.cluster.worker import Job, Made, Worker
from penstock.errors import PenstockError

DEPTH = 2
"""A worker has so many chunks: the next one is there when it is done with one."""
LOOK = 0.2
"""Seconds: so often who waits for bytes of another machine looks whether they are still wanted."""
TRIES = 5
"""So many workers in a row may be lost before they have begun."""


class Member:
    """One actor, and the chunks that it has, the one that it is at first."""

    def __init__(self, actor: Any) -> None:
        self.actor = actor
        self.loading: Any = None
        """What it answers when it has loaded the job; None once it has."""
        self.chunks: list[Chunk] = []


class Crew:
    """So many actors as were asked for, as far as the cluster has room for them."""

    def __init__(self, ray: Any, job: Job, size: int, where: str) -> None:
        self._ray = ray
        self._where = where
        self._size = size
        self._kind = ray.remote(Worker).options(num_cpus=1, max_restarts=0, scheduling_strategy="SPREAD")
        self._shipment = Shipment(ray, job, where)
        self.nbytes = self._shipment.nbytes
        """What the job takes in the object store."""
        self._members: list[Member] = []
        self._failures = 0
        self._lock = threading.Lock()
        self.ended = False
        self.lost = 0
        """How many were lost so far."""

    def free(self) -> Member | None:
        """Who has the fewest chunks, and room for another one; starts who is not there."""
        while len(self._members) < self._size and not self.ended:
            self._start()
        able = [member for member in self._members if member.loading is None and len(member.chunks) < DEPTH]
        return min(able, key=lambda member: len(member.chunks), default=None)

    def _start(self) -> None:
        with self._lock:
            if self.ended:
                return
            member = Member(self._kind.remote())
            self._members.append(member)
        self._load(member)

    def _load(self, member: Member) -> None:
        member.loading = member.actor.load.remote(self._shipment.ref)

    def give(self, member: Member, chunk: Chunk, seen: list[int]) -> None:
        """Have a chunk done."""
        work = member.actor.work.options(num_returns=2)
        chunk.answer, chunk.data = work.remote(chunk.ref, chunk.first, chunk.last, seen)
        chunk.member = member
        member.chunks.append(chunk)

    def wait(self) -> Iterable[Chunk]:
        """Wait for an answer: the chunks that are done. Those of who is lost are to be done again."""
        loading = {member.loading: member for member in self._members if member.loading is not None}
        at_work = {chunk.answer: chunk for member in self._members for chunk in member.chunks}
        refs = [*at_work, *loading]
        if not refs:
            return  # all has ended
        self._ray.wait(refs, num_returns=1)
        for ref in self._ray.wait(refs, num_returns=len(refs), timeout=0)[0]:
            if self.ended:
                return
            if ref in loading:
                self._loaded(loading[ref])
            elif (chunk := at_work[ref]).member is not None and self._answered(chunk):
                yield chunk

    def _loaded(self, member: Member) -> None:
        if member not in self._members:
            return
        try:
            answer = self._ray.get(member.loading)
        except self._ray.exceptions.RayError as error:
            self._failures += 1
            if self._failures == TRIES and not self.ended:
                raise PenstockError(
                    f"{self._where}: no Ray worker could be started: {_first_line(error)}"
                ) from None
            self.lose(member)
            return
        if isinstance(answer, Lacking):
            self._shipment.without(answer)
            self._load(member)
            return
        self._failures = 0
        member.loading = None

    def _answered(self, chunk: Chunk) -> bool:
        member = chunk.member
        assert member is not None
        try:
            made: Made = self._ray.get(chunk.answer)
        except self._ray.exceptions.RayTaskError:
            raise
        except self._ray.exceptions.RayError:
            self.lose(member)
            return False
        member.chunks.remove(chunk)
        chunk.member, chunk.made = None, made
        return True

    def lose(self, member: Member) -> None:
        """Somebody does not answer any more: another one comes, and the chunks are to be done again."""
        with self._lock:
            if member not in self._members or self.ended:
                return
            self._members.remove(member)
        self.lost += 1
        self._kill(member)
        for chunk in member.chunks[:1]:
            chunk.losses += 1  # what it was at, and may have died of
        for chunk in member.chunks:
            chunk.reset()
        member.chunks.clear()

    def fetched(self, chunk: Chunk) -> Any:
        """What came of a chunk; None if it was lost with the machine that it was on, or all has ended."""
        try:
            while not self._ray.wait([chunk.data], timeout=LOOK)[0]:  # the machine may be gone unnoticed
                if self.ended:
                    return None
            return self._ray.get(chunk.data)
        except self._ray.exceptions.RayTaskError:
            raise
        except self._ray.exceptions.RayError:
            return None

    def end(self) -> None:
        """End all of them: who waits for one gets an answer. May be called from any thread, often."""
        with self._lock:
            self.ended = True
            members = list(self._members)
        for member in members:
            self._kill(member)

    def _kill(self, member: Member) -> None:
        if self._ray.is_initialized():
            with suppress(Exception):  # it may be gone already, and so may the cluster
                self._ray.kill(member.actor, no_restart=True)


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join([*lines[:1], *lines[-1:]] if len(lines) > 1 else lines)
