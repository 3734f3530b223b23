"""What was seen when lines were followed, some rounds at a time."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from penstock.doctor.book import Book
from penstock.doctor.burst import Burst
from penstock.doctor.places import Place
from penstock.doctor.rising import is_plain, rising
from penstock.doctor.signals import Signal

LATEST = 4
"""So many bursts are kept."""
OFTEN = 3
"""What is made so many times, and in half of the rounds, is made at every round."""
SHARE = 0.3
"""Lines that were seen to add this part of what memory grows by are those that do it."""
ALWAYS = ("memory.heap", "memory.anonymous")
"""What is read at every line in any case."""
WASTE = {
    "tf-variables": (
        "a new `tf.Variable` is made at every step and dropped again. Nothing piles up, but each is "
        "allocated and "
        "initialised anew; make it once before the loop and use `variable.assign(...)`."
    ),
    "tf-retracing": (
        "a new `tf.function` is made at every step and dropped again. Nothing piles up, but each is "
        "traced anew; "
        "make it once before the loop."
    ),
}


@dataclass(frozen=True)
class Rounds:
    """What a burst has seen."""

    grew: dict[str, dict[Place, list[float]]]
    sites: dict[str, Counter[Place]]
    ran: Counter[Place]
    rounds: int
    at: float = 0.0
    """When it began."""
    seconds: float = 0.0
    around: bool = False
    """Whether an inner loop was passed over."""
    steps: dict[str, int] = field(default_factory=dict)
    """How many steps of each framework were counted meanwhile."""

    def rounds_of(self, axis: str) -> int:
        """How many rounds of what growth is counted by were followed."""
        if not axis:
            return self.rounds
        if not axis.startswith("loop "):
            return self.steps.get(axis, 0)
        file, _, line = axis.removeprefix("loop ").rpartition(" ")[0].rpartition(":")
        lines = sorted(one.line for one in self.ran if one.file == file and one.line >= int(line))
        if not lines or lines[0] != int(line):
            return 0
        return min(self.ran[Place(file, one)] for one in lines[:2])  # the loop, and what it does first


class Bursts:
    """The latest of them, and what they say together."""

    def __init__(self) -> None:
        self.bursts: list[Rounds] = []
        self.focus = (0.0, float("inf"))
        """The time that is asked about: what was seen in loops before it and after it does not count."""

    def add(self, burst: Burst, at: float = 0.0, steps: dict[str, int] | None = None) -> None:
        """Keep what a burst has seen that began at a time, and how many steps were counted meanwhile."""
        self.bursts.append(_rounds(burst, at, steps or {}))
        del self.bursts[:-LATEST]

    def seen(self) -> list[Rounds]:
        """The bursts that tell of the time in question."""
        return [one for one in self.bursts if self.focus[0] <= one.at <= self.focus[1]]

    def later(self, key: str = "") -> list[Rounds]:
        """All bursts, of a counter where one is asked for, but the first one where there are more like it."""
        bursts = [one for one in self.seen() if not key or key in one.grew]
        close = [one for one in bursts if not one.around]
        return [one for one in bursts if one is not close[0]] if len(close) > 1 else bursts

    def hidden(self, book: Book, signals: list[Signal]) -> bool:
        """Whether no line was seen to do it, so that what is around the inner loop is to be looked at."""
        if not self.bursts or self.bursts[-1].around:
            return False
        return any(self._hidden(key, book) for key in rising(book, signals))

    def _hidden(self, key: str, book: Book) -> bool:
        """Whether no line was seen to make a counter grow that can be read at lines, or a type."""
        if key.startswith("type "):
            return not is_plain(key[5:]) and not self.sites(key)
        if key in ALWAYS:
            series, times = book.series[key], book.times
            gained, lasted = series.values[-1] - series.values[0], times[-1] - times[series.moments[0]]
            seen = [(sum(map(sum, one.grew.get(key, {}).values())), one.seconds) for one in self.bursts]
            return not any(added * lasted >= SHARE * gained * seconds for added, seconds in seen)
        read = [one.grew[key] for one in self.bursts if key in one.grew]
        return bool(read) and not any(sum(gained) > 0 for one in read for gained in one.values())

    def lines(self, key: str) -> dict[Place, list[float]]:
        """What each line has added to a counter, over all bursts that count."""
        total: dict[Place, list[float]] = {}
        for one in self.later(key):
            for place, gained in one.grew[key].items():
                total.setdefault(place, []).extend(gained)
        return total

    def sites(self, kind: str) -> Counter[Place]:
        """The lines that have made things of a kind."""
        total: Counter[Place] = Counter()
        for burst in self.seen():
            total.update(burst.sites.get(kind, Counter()))
        return total

    def waste(self) -> list[str]:
        """Things that are made at every round and dropped again: no leak, but work for nothing."""
        said = []
        for kind, text in WASTE.items():
            rounds = self.rounds()
            for place, count in self.sites(kind).items():
                if rounds >= OFTEN and count >= max(OFTEN, 0.5 * rounds):
                    said.append(f"{place}: {text}")
        return said

    def rounds(self, axis: str = "") -> int:
        """How many rounds were watched in the bursts that count; of what growth is counted by, if asked."""
        return sum(burst.rounds_of(axis) for burst in self.later())


def _rounds(burst: Burst, at: float, steps: dict[str, int]) -> Rounds:
    around = burst.inner is not None
    return Rounds(burst.grew, burst.sites, burst.ran, burst.rounds, at, burst.seconds, around, steps)
