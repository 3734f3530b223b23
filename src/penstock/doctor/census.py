"""How many objects of each type there are, at a price that a training loop does not notice.

What is there when the watch begins is set aside (`gc.freeze`): it is counted once, and neither walked nor
collected at every sample. From time to time everything is counted anew.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable
from time import perf_counter, thread_time

from penstock.doctor.signals import Look

YOUNG = 20_000
"""With more objects than that since it was last counted anew, it is time to do so again."""
SELDOM = 40.0
"""So many times of what it takes lie between two times at which everything is counted anew."""
DEAR, EVERY = 0.01, 3
"""Where a full collection takes that many seconds, it is done at every so many samples only."""


class Census:
    """Counts objects."""

    def __init__(self) -> None:
        self._base: Counter[str] = Counter()
        self._counted_at = 0.0
        self._cost = 0.0
        self._frozen = False
        self._full_cost = 0.0
        self._looks = 0
        self._took = 0.0
        self._asked = 0

    def begin(self, meet: Callable[[list[object], Counter[str]], None] | None = None) -> None:
        """Count everything, show it to whom it may concern, and set it aside."""
        began = perf_counter()
        if self._frozen:
            gc.unfreeze()
        if gc.isenabled():
            gc.collect()
        objects = gc.get_objects()
        self._base = by_type(objects)
        if meet is not None:
            meet(objects, self._base)
        del objects
        gc.freeze()
        self._frozen = True
        self._counted_at = perf_counter()
        self._cost = self._counted_at - began

    def set_aside(self, look: Look) -> None:
        """What was seen is frozen by now: whoever asks who keeps a thing has to thaw everything."""
        self._base = Counter(look.types)

    def due(self) -> bool:
        """Whether to look this time: at every sample, or more seldom where it takes long."""
        self._asked += 1
        return self._took < DEAR or self._asked % EVERY == 0

    def look(self) -> Look:
        """What there is now."""
        began = thread_time()
        try:
            return self._look()
        finally:
            self._took = thread_time() - began

    def _look(self) -> Look:
        if gc.isenabled():  # where the user has switched it off, garbage is theirs to see
            self._collect()
        objects = gc.get_objects()
        if len(objects) > YOUNG and perf_counter() - self._counted_at > SELDOM * self._cost:
            del objects
            self.begin()
            objects = gc.get_objects()
        types = by_type(objects)
        types.update(self._base)
        return Look(objects, types)

    def _collect(self) -> None:
        """All generations, but only now and then where that takes long."""
        self._looks += 1
        if self._full_cost < DEAR or self._looks % EVERY == 0:
            began = thread_time()
            gc.collect()
            self._full_cost = thread_time() - began
        else:
            gc.collect(1)

    def end(self) -> None:
        """Give the objects back to the collector."""
        if self._frozen:
            gc.unfreeze()
            self._frozen = False


def by_type(objects: list[object]) -> Counter[str]:
    """How many there are of each type, by name: no type is kept alive."""
    found: Counter[str] = Counter()
    for kind, count in Counter(map(type, objects)).items():
        found[f"{kind.__module__}.{kind.__qualname__}"] += count
    return found
