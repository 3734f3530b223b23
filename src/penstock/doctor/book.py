"""What was counted, moment by moment."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence

MOST = 400
"""Of more moments, every second one is forgotten, so that a watch of days stays small."""


class Book:
    """Moments, with the steps done by then and the loop they are in; and one series a counter."""

    def __init__(self) -> None:
        self.times = array("d")
        self.loops: list[str] = []
        self.steps: dict[str, array[float]] = {}
        self.strides: dict[str, int] = {}
        """What one round adds to the variable of a loop, where it is not one."""
        self.loose: set[str] = set()
        """Variables of loops of which nobody knows how often they were begun anew."""
        self.series: dict[str, Series] = {}
        self._seen: dict[str, tuple[int, float, int]] = {}
        """Of what has not grown yet: the first moment, the value, and the last moment."""
        self._met: dict[str, tuple[int, float, int]] = {}
        self._types: Mapping[str, int] = {}
        self._types_at = 0
        self._since: dict[str, int] = {}
        """Of types that have not grown yet: the moment since which there are as many as there were last."""
        self._risen: set[str] = set()
        self.spacing = 1
        """How many moments one that is kept stands for by now."""

    def __len__(self) -> int:
        return len(self.times)

    def open(self, time: float, loop: str, steps: dict[str, float]) -> None:
        """Begin a moment; counters are put into it with `put`."""
        self.times.append(time)
        self.loops.append(loop)
        for name in steps.keys() | self.steps.keys():
            column = self.steps.setdefault(name, array("d", [0.0]) * (len(self.times) - 1))
            column.append(steps.get(name, column[-1] if column else 0.0))

    def put(self, key: str, value: float) -> None:
        """Put a counter into the moment that was opened last."""
        series = self.series.get(key)
        if series is None:
            series = self.series[key] = Series()
        series.add(len(self.times) - 1, value)

    def follow(self, key: str, value: float) -> bool:
        """Like `put`, for one counter of thousands: a series is kept once it has grown. Whether it is."""
        if key in self.series:
            self.put(key, value)
            return True
        now = len(self.times) - 1
        first, was, last = self._seen.get(key, (now, value, now))
        if value <= was:
            self._met[key] = (now if value < was else first, value, now)
            return False
        series = self.series[key] = Series()
        for moment in sorted({first, last}):
            series.add(moment, was)
        series.add(now, value)
        return True

    def follow_types(self, counts: Mapping[str, int]) -> None:
        """Like `follow`, for the types of objects, of which there are thousands and few change."""
        now = len(self.times) - 1
        for name, count in counts.items() - self._types.items():
            was = self._types.get(name)
            if was is None or count < was:
                self._since[name] = now
            elif name not in self._risen:
                self._risen.add(name)
                for moment in sorted({self._since.pop(name), self._types_at}):
                    self.series.setdefault(f"type {name}", Series()).add(moment, was)
        for name in self._risen & counts.keys():
            self.put(f"type {name}", counts[name])
        self._types, self._types_at = counts, now

    def close(self) -> None:
        """End a moment: what was not met any more is forgotten."""
        self._seen, self._met = self._met, {}

    def thin(self) -> bool:
        """Forget every second moment, if there are too many."""
        if len(self.times) < MOST:
            return False
        keep = range(0, len(self.times), 2)
        new = {old: number for number, old in enumerate(keep)}
        self.times = array("d", [self.times[i] for i in keep])
        self.loops = [self.loops[i] for i in keep]
        self.steps = {name: array("d", [column[i] for i in keep]) for name, column in self.steps.items()}
        for series in self.series.values():
            series.renumber(new)
        self._seen = {key: (a // 2, value, b // 2) for key, (a, value, b) in self._seen.items()}
        self._since = {name: moment // 2 for name, moment in self._since.items()}
        self._types_at //= 2
        self.spacing *= 2
        return True

    def stretches(self) -> list[tuple[str, range]]:
        """The loops one after another, each with its moments."""
        found: list[tuple[str, range]] = []
        for number, loop in enumerate(self.loops):
            if found and found[-1][0] == loop:
                found[-1] = (loop, range(found[-1][1].start, number + 1))
            else:
                found.append((loop, range(number, number + 1)))
        return found


class Series:
    """One counter at the moments at which it was read."""

    __slots__ = ("moments", "values")

    def __init__(self) -> None:
        self.moments = array("l")
        self.values = array("d")

    def add(self, moment: int, value: float) -> None:
        """Say what the counter was at a moment; the last word on a moment counts."""
        if self.moments and self.moments[-1] == moment:
            self.values[-1] = value
        else:
            self.moments.append(moment)
            self.values.append(value)

    def renumber(self, new: dict[int, int]) -> None:
        """Keep the moments that are left, under their new numbers."""
        kept = [(new[m], v) for m, v in zip(self.moments, self.values, strict=True) if m in new]
        self.moments = array("l", [m for m, _ in kept])
        self.values = array("d", [v for _, v in kept])

    def within(self, span: range, xs: Sequence[float]) -> Iterator[tuple[float, float]]:
        """The points of a stretch, over `xs`."""
        return ((xs[m], v) for m, v in zip(self.moments, self.values, strict=True) if m in span)
