"""One child, from start to end: what the parent saw of it."""

from dataclasses import dataclass, field
from statistics import median

from benchmarks import cgroup as cgroups
from benchmarks import procfs
from benchmarks.memory.pipeline import Pipeline, bound
from benchmarks.tuned import Rate
from benchmarks.watch import Watch


@dataclass
class Seen:
    """What the processes of one peer did: seconds of their passes, bytes over idle, and how they ended."""

    firsts: list[float] = field(default_factory=list)
    """The first pass of each process."""
    bests: list[float] = field(default_factory=list)
    """The quickest timed pass of each process that had some."""
    peak: int = 0
    after_close: int = 0
    refusal: str = ""
    trouble: str = ""
    killed: bool = False

    @property
    def first(self) -> float | None:
        """What a first pass takes: in the middle of those of all processes."""
        return median(self.firsts) if self.firsts else None

    @property
    def best(self) -> float | None:
        """The quickest timed pass; the first pass where it was too long to repeat. None where one failed."""
        return None if self.trouble else min(self.bests, default=self.first)

    def add(self, other: "Seen") -> None:
        """Another process of the same peer has done this."""
        self.firsts += other.firsts
        self.bests += other.bests
        self.peak = max(self.peak, other.peak)
        self.trouble = self.trouble or other.trouble


def child(kind: str, name: str, peer: str, group: cgroups.Cgroup | None = None, room: int = 0) -> Seen:
    """Run one child; with `group`, limit it to what is charged when idle and `room` bytes more."""
    seen = Seen()
    passes: list[float] = []
    idle = 0
    with Watch([kind, name, peer]) as watch:
        for event in watch.events():
            match event["event"]:
                case "started":
                    if group is not None:
                        group.add(watch.pid)
                case "idle":
                    idle = watch.forget()
                    if group is not None:
                        group.limit(group.charged() + room)
                case "pass" if event["first"]:
                    seen.firsts = [event["seconds"]]
                case "pass":
                    passes.append(event["seconds"])
                case "refused":
                    seen.refusal = event["reason"]
                case "done" | "closed":
                    seen.peak = watch.highest() - idle
                    seen.after_close = watch.memory() - idle
            if event["event"] in ("started", "idle", "done", "closed"):
                watch.reply()
        status = watch.close()
        if watch.timed_out:
            seen.trouble = "took too long"
        elif status != 0:
            seen.trouble = f"ended with status {status}: {watch.complaint()}"
    if group is not None:
        seen.killed = group.kills() > 0
    seen.bests = [min(passes)] if passes and not seen.trouble else []
    return seen


def inside_cgroup(pipeline: Pipeline) -> Seen | None:
    """Run a pipeline of Penstock in a cgroup of just its bound; None where there can be none."""
    group = cgroups.make("penstock-bench")
    if group is None:
        return None
    try:
        return child("memory", pipeline.name, "penstock", group, bound(pipeline.budget))
    finally:
        group.remove()


def rate(name: str, setting: str) -> Rate:
    """Run one pipeline with one setting."""
    seen = Rate()
    with Watch(["tuned", name, setting]) as watch:
        for event in watch.events():
            if event["event"] == "rate":
                seen = Rate(event["early"], event["late"], tuple(event["chosen"]))
            else:
                watch.reply()
        status = watch.close()
        if watch.timed_out or status:
            ended = f"ended with status {status}: {watch.complaint()}"
            return Rate(trouble="took too long" if watch.timed_out else ended)
    return seen


@dataclass(frozen=True)
class Point:
    """A process at one moment of the flat work."""

    count: int
    memory: int
    threads: int
    descriptors: int


def points(name: str) -> tuple[list[Point], str]:
    """Run one flat work and look at it whenever it asks to be looked at."""
    found = []
    with Watch(["flat", name, "penstock"]) as watch:
        for event in watch.events():
            if event["event"] == "point":
                threads, descriptors = procfs.threads(watch.pid), procfs.descriptors(watch.pid)
                found.append(Point(event["count"], watch.memory(), threads, descriptors))
            watch.reply()
        status = watch.close()
        trouble = "took too long" if watch.timed_out else watch.complaint() if status else ""
    return found, trouble
