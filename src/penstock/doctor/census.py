"""How many objects of each type there are, at a price that a training loop does not notice.

What is there when the watch begins is set aside (`gc.freeze`): it is counted once, and neither walked nor
collected at every sample. From time to time everything is counted anew.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Callable
from time import perf_counter, thread_time

from penstock.doctor.signals import Look

YOUNG = 20_000
"""With more objects than that since everything was counted, it is counted anew, once looks have taken as long
as that does."""
MANY, LATER = 100_000, 60.0
"""With more objects than that at first, garbage among them is collected later only, when so many times what
that takes have gone: a library has that many, and the script may be short."""
COLLECTED = 4.0
"""About how many times longer it takes to count everything if garbage is collected first."""
IMPORTED = 50
"""So many modules that come at once are a library, which is set aside too: some come at the first step."""
DEAR, EVERY = 0.01, 3
"""Where a full collection takes that many seconds, it is done at every so many samples only."""


class Census:
    """Counts objects."""

    def __init__(self, meet: Callable[[list[object], Counter[str]], None] | None = None) -> None:
        self._meet = meet
        self._base: Counter[str] = Counter()
        self._paid = 0.0
        self.cost = 0.0
        """About what it takes to count everything, garbage collected first."""
        self._frozen = False
        self._light = False
        self._began: float | None = None
        self._full_cost = 0.0
        self._looks = 0
        self._took = 0.0
        self._asked = 0
        self._modules = 0
        self.anew = 0.0
        """What it took to count everything anew in the last look: it keeps to a pace of its own."""

    def begin(self) -> None:
        """Count everything, show it to whom it may concern, and set it aside."""
        began = thread_time()
        if self._frozen:
            gc.unfreeze()
        objects = gc.get_objects()
        self._light = self._began is None and len(objects) > MANY
        if gc.isenabled() and not self._light:
            del objects
            gc.collect()
            objects = gc.get_objects()
        self._base = by_type(objects)
        if self._meet is not None:
            self._meet(objects, self._base)
        del objects
        gc.freeze()
        self._frozen = True
        self._modules = len(sys.modules)
        self.anew = thread_time() - began
        self.cost = self.anew * (COLLECTED if self._light else 1.0)
        self._paid = 0.0
        self._began = self._began or perf_counter()

    def set_aside(self, look: Look) -> None:
        """What was seen is frozen by now: whoever asks who keeps a thing has to thaw everything."""
        self._base = Counter(look.types)

    def due(self) -> bool:
        """Whether to look this time: at every sample, or more seldom where it takes long."""
        self.anew = 0.0
        self._asked += 1
        return self._took < DEAR or self._asked % EVERY == 0

    def look(self) -> Look:
        """What there is now."""
        began = thread_time()
        try:
            return self._look()
        finally:
            self._took = max(0.0, thread_time() - began - self.anew)
            self._paid += self._took

    def _look(self) -> Look:
        if self._frozen and len(sys.modules) > self._modules + IMPORTED:
            self._imported()
        if gc.isenabled():  # where the user has switched it off, garbage is theirs to see
            self._collect()
        objects = gc.get_objects()
        late = self._light and perf_counter() - (self._began or 0.0) > LATER * self.cost
        if late or (len(objects) > YOUNG and self._paid > self.cost):
            del objects
            self.begin()
            objects = gc.get_objects()
        types = by_type(objects)
        types.update(self._base)
        return Look(objects, types)

    def _imported(self) -> None:
        """Set aside what has come with a library, uncollected: it would take long at every look."""
        began = thread_time()
        objects = gc.get_objects()
        self._base.update(by_type(objects))
        if self._meet is not None:
            self._meet(objects, self._base)
        del objects
        gc.freeze()
        self._modules = len(sys.modules)
        self.anew = thread_time() - began

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
