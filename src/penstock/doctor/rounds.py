"""How many rounds loops have made, by the values that their variables have at some moments."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

OFTEN = 0.2


@dataclass(slots=True)
class Count:
    """What is known of one variable of a loop."""

    value: int
    low: int
    top: int
    total: int
    """What it has gone through, over all times that the loop was begun anew."""
    around: int = 0
    """What the variable of the loop around it had gone through by then."""
    step: int = 0
    """What its values differ by, as far as they were seen."""
    seen: int = 0
    again: int = 0
    """How often it was seen to be begun anew."""

    @property
    def stride(self) -> int:
        """What one round adds."""
        return self.step or 1

    @property
    def often(self) -> bool:
        """Whether it is begun anew so often that it may have been more than once between two moments."""
        return self.again > OFTEN * self.seen

    def see(self, value: int, around: Count | None) -> None:
        """The value it has now; `around` is the loop around it, if that is counted."""
        self.seen += 1
        self.again += value < self.value
        self.low, self.top = min(self.low, value), max(self.top, value)
        times = int(value < self.value)
        if around is not None:
            times = max(times, round((around.total - self.around) / around.stride))
            self.around = around.total
        if not times:
            self.step = gcd(self.step, value - self.value)
        self.total += value - self.value + times * (self.top - self.low + self.stride)
        self.value = value


class Counts:
    """All variables that loops count with."""

    def __init__(self) -> None:
        self._known: dict[str, Count] = {}

    def see(self, key: str, value: int, around: Count | None = None) -> Count:
        """A variable has a value now."""
        known = self._known.get(key)
        if known is None:
            before = around.total if around is not None else 0
            known = self._known[key] = Count(value, value, value, value, before)
        else:
            known.see(value, around)
        return known

    def most(self) -> float:
        """The rounds of the loop that has made most of them."""
        return max((one.total / one.stride for one in self._known.values()), default=-1.0) + 1
