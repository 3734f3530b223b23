"""`AUTOTUNE` against a hand-made grid: five pipelines, each with every setting in a process of its own.

Each pipeline is endless. It runs for two seconds and 200 batches, in which `AUTOTUNE` may find out what
suits it, and then for two seconds more, in which elements are counted: what is compared is where it has
come to by then.
"""

import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.conversation import Conversation

WARM, TIMED = 2.0, 2.0
WARM_BATCHES = 200
AUTOTUNE = "AUTOTUNE"
BATCH = 32


@dataclass(frozen=True)
class Tuned:
    """A pipeline with a number of calls and a depth of prefetch; `step` is the consumer's own work."""

    name: str
    title: str
    build: Callable[[Any, Any], Any]
    calls: tuple[int, ...]
    depths: tuple[int, ...] = (1, 8)
    step: Callable[[Any], None] = lambda _: None

    def settings(self) -> list[str]:
        """All of the grid."""
        return [f"{calls} {depth}" for calls in self.calls for depth in self.depths]


@dataclass(frozen=True)
class Rate:
    """How many elements a second came: at first, then; and what was chosen by then."""

    early: float = 0.0
    late: float = 0.0
    chosen: tuple[str, ...] = ()
    trouble: str = ""


@dataclass(frozen=True)
class Grid:
    """What came of each run of each setting; and of the last runs, of the best settings and of `AUTOTUNE`."""

    rates: dict[str, list[Rate]]
    last: dict[str, list[Rate]]

    @property
    def best(self) -> str:
        """The best setting: in the middle of its last runs."""
        return max((setting for setting in self.last if setting != AUTOTUNE), key=self.middle_late)

    def middle(self, setting: str) -> Rate:
        """The run in the middle of the last ones; one that failed counts as the slowest."""
        runs = sorted(self.last[setting], key=lambda rate: rate.late)
        return runs[len(runs) // 2]

    def middle_late(self, setting: str) -> float:
        """How many elements a second came in it."""
        return self.middle(setting).late


def waits(number: Any) -> Any:
    """Ask a server, which takes two milliseconds to answer."""
    time.sleep(0.002)
    return int(number)


def asked(ps: Any, calls: Any) -> Any:
    """A function that waits."""
    return ps.Dataset.range(1 << 40).map(waits, num_parallel_calls=calls)


PACKED = zlib.compress(np.random.default_rng(0).integers(0, 4, 1 << 16, np.uint8).tobytes(), 1)


def unpack(number: Any) -> Any:
    """Unpack 64 KiB: C code that lets go of Python's lock."""
    raw = np.frombuffer(zlib.decompress(PACKED), np.uint8)
    return raw[: 1 << 12] + np.uint8(int(number) % 3)


def unpacked(ps: Any, calls: Any) -> Any:
    """A function that computes outside of Python."""
    return ps.Dataset.range(1 << 40).map(unpack, num_parallel_calls=calls)


def sums(number: Any) -> Any:
    """Half a millisecond of plain Python."""
    total = int(number)
    for i in range(8_000):
        total = (total * 31 + i) % 65_521
    return total


def counted(ps: Any, calls: Any) -> Any:
    """A function that computes in Python."""
    return ps.Dataset.range(1 << 40).map(sums, num_parallel_calls=calls)


def slow_rows(first: Any) -> Iterator[Any]:
    """Rows of a store that gives sixteen every four milliseconds."""
    for number in range(400):
        if number % 16 == 0:
            time.sleep(0.004)
        yield np.int64(int(first) * 400 + number)


def stored(ps: Any, calls: Any) -> Any:
    """Sixteen slow files at a time."""

    def part(first: Any) -> Any:
        signature = ps.TensorSpec((), np.int64)
        return ps.Dataset.from_generator(slow_rows, args=(first,), output_signature=signature)

    return ps.Dataset.range(1 << 40).interleave(part, cycle_length=16, num_parallel_calls=calls)


IMAGES = np.random.default_rng(1).integers(0, 256, (4096, 28, 28), np.uint8)


def scaled(ps: Any, calls: Any) -> Any:
    """Arithmetic over blocks, for a consumer that computes as well."""
    images = ps.Dataset.from_tensor_slices(IMAGES).repeat()
    return images.map(lambda x: np.sqrt(x.astype(np.float32) / 255), num_parallel_calls=calls)


def train(batch: Any) -> None:
    """Some arithmetic of the consumer's own, on one core."""
    np.tanh(batch).sum()


WORKS = (
    Tuned("tuned_waits", "a function that waits 2 ms", asked, (1, 2, 8, 32)),
    Tuned("tuned_unpacks", "a function that unpacks 64 KiB (zlib)", unpacked, (1, 2, 4)),
    Tuned("tuned_counts", "half a millisecond of plain Python", counted, (1, 2, 4)),
    Tuned("tuned_stores", "16 slow files in turn", stored, (1, 4, 16)),
    Tuned(
        "tuned_trains", "arithmetic over blocks, and a consumer that computes", scaled, (1, 2, 4), step=train
    ),
)


def run(name: str, setting: str, parent: Conversation) -> None:
    """Run one pipeline with one setting, and say how many elements a second came."""
    import penstock as ps

    work = next(each for each in WORKS if each.name == name)
    calls, depth = (ps.AUTOTUNE, ps.AUTOTUNE) if setting == AUTOTUNE else map(int, setting.split())
    dataset = work.build(ps, calls).batch(BATCH).prefetch(depth)
    parent.ask("idle")
    with dataset.iterate() as running:
        early = _rate(running, work, WARM, WARM_BATCHES)
        late = _rate(running, work, TIMED, 0)
        chosen = [
            f"{op.name}: {each.value} {each.what}"
            for op in running.report().ops
            for each in op.chosen
            if each.what != "rows a block"
        ]
    parent.say("rate", early=early, late=late, chosen=chosen)


def _rate(running: Iterator[Any], work: Tuned, seconds: float, batches: int) -> float:
    started = time.perf_counter()
    count = 0
    while (passed := time.perf_counter() - started) < seconds or count < batches:
        work.step(next(running))
        count += 1
    return count * BATCH / passed
