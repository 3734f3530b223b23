"""Elements that the user keeps alive: how many, and who refers to them."""

from __future__ import annotations

import gc
import inspect
import sys
import warnings
from collections import deque
from collections.abc import Iterable
from itertools import islice
from types import FrameType, ModuleType
from typing import Any

import numpy as np

from penstock.errors import LentWarning
from penstock.memory.buffers import owner_of
from penstock.memory.ledger import Ledger
from penstock.memory.sizes import show_bytes

LEAST_BYTES = 64 << 20
LEAST_ELEMENTS = 16
LEVELS = 4
"""So many containers within one another are looked through."""
SAMPLE = 64
"""Of the containers of a level, the containers of so many are looked for: finding them reads the whole heap,
once, and for each of these."""
MOST_ITEMS = 1 << 16
"""Of a larger container, so many items are looked at."""
CONTAINERS = (list, tuple, dict, set, deque)


class LentWatch:
    """Tells the user once when far more elements are kept alive than a training loop needs."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._most = max(LEAST_BYTES, ledger.budget // 4)
        self._told = False

    def look(self) -> None:
        """Called after every block that is handed to the user."""
        ledger = self._ledger
        if self._told or ledger.lent < self._most or ledger.lent_elements < LEAST_ELEMENTS:
            return
        self._told = True
        found = holders(ledger)
        kept = f", kept by {'; '.join(found)}" if found else ""
        warnings.warn(
            f"{ledger.lent_elements:,} elements of this dataset are alive outside the pipeline: "
            f"{show_bytes(ledger.lent)}{kept}. They are not part of the memory budget. "
            f"Let go of each batch before the next one, or keep a copy of what you need of it.",
            LentWarning,
            stacklevel=_users_level(),
        )


class _Holder:
    """A container, and the number of lent elements in it. No tuple: that would be a container itself."""

    __slots__ = ("container", "count")

    def __init__(self, container: Any, count: int) -> None:
        self.container = container
        self.count = count


Holders = dict[int, _Holder]
"""By the identity of the container."""


def _users_level() -> int:
    """The `stacklevel` with which the caller warns of the user's line."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame):
        level, frame = level + 1, frame.f_back
    return level


def _is_ours(frame: FrameType) -> bool:
    return _is_our_name(frame.f_globals.get("__name__"))


def _is_our_name(module: object) -> bool:
    return isinstance(module, str) and module.split(".")[0] == "penstock"


def holders(ledger: Ledger) -> list[str]:
    """The containers and variables that refer to lent elements, in the user's words."""
    if ledger.lent_elements < LEAST_ELEMENTS:
        return []
    return _Search({id(array) for array in ledger.lent_arrays()}).names()


class _Search:
    """Goes from the containers that have lent arrays to those that have these, and so on."""

    def __init__(self, owners: set[int]) -> None:
        self._owners = owners
        self._found: Holders = {}
        self._named: set[tuple[int, str]] = set()

    def names(self) -> list[str]:
        """The five that hold the most."""
        level = self._with_arrays()
        for _ in range(LEVELS):
            self._found |= level
            if level:
                level = self._one_level_up(level)
        for top in list(sys._current_frames().values()):
            self._look_at_stack(top)
            del top  # it may be this very frame, which would then refer to itself
        return [words for _, words in sorted(self._named, reverse=True)][:5]

    def _with_arrays(self) -> Holders:
        """The containers that have lent arrays."""
        found: Holders = {}
        for container in gc.get_objects():
            if type(container) in CONTAINERS:
                if _is_module_dict(container):
                    self._name_variables(container)
                elif count := self._arrays_in(container, LEVELS):
                    found[id(container)] = _Holder(container, count)
        return found

    def _arrays_in(self, container: Any, depth: int) -> int:
        """How many lent arrays are in a container and in the tuples in it.

        The collector does not know a tuple, or a dict, that has arrays and numbers only.
        """
        try:
            if NEITHER(map(type, islice(_values(container), MOST_ITEMS))):
                return 0
            count = 0
            for item in islice(_values(container), MOST_ITEMS):
                if isinstance(item, np.ndarray):
                    count += id(owner_of(item)) in self._owners
                elif depth and (type(item) is tuple or (type(item) is dict and not gc.is_tracked(item))):
                    count += self._arrays_in(item, depth - 1)
        except RuntimeError:  # it changed in another thread meanwhile
            return 0
        return min(count, len(container))

    def _one_level_up(self, level: Holders) -> Holders:
        """The containers of these; those that are attributes or global variables get a name."""
        sample = [level[key].container for key in islice(level, 0, None, -(-len(level) // SAMPLE))]
        above: Holders = {}
        for referrer in gc.get_referrers(*sample):
            if id(referrer) in self._found or referrer is sample or isinstance(referrer, NOT_HOLDERS):
                continue
            if _is_module_dict(referrer):
                self._name_variables(referrer)
            elif type(referrer) in CONTAINERS:
                count = sum(level[id(item)].count for item in _some_of(referrer) if id(item) in level)
                if count:  # else it is one of those that the search itself makes
                    above[id(referrer)] = _Holder(referrer, min(count, len(referrer)))
            else:
                self._name_attributes(referrer)
        return above

    def _look_at_stack(self, frame: FrameType | None) -> None:
        while frame is not None:
            if frame.f_code.co_flags & inspect.CO_OPTIMIZED and not _is_ours(frame):
                variables = frame.f_locals
                self._name(dict(variables), "", f" in {frame.f_code.co_name}()")
                for value in list(variables.values()):
                    self._name_attributes(value)
                if type(variables) is dict:
                    # Before Python 3.13 this is a copy that the frame keeps, and what it looks for.
                    variables.clear()
            frame = frame.f_back

    def _name_variables(self, variables: dict[str, Any]) -> None:
        home = variables["__name__"]
        if isinstance(home, str) and isinstance(sys.modules.get(home), ModuleType):
            self._name(variables, "", f" in module {home}")

    def _name_attributes(self, owner: Any) -> None:
        if not isinstance(owner, NOT_HOLDERS) and not _is_our_name(type(owner).__module__):
            attributes = getattr(owner, "__dict__", None)
            if type(attributes) is dict:
                self._name(attributes, f"{type(owner).__name__}.", "")

    def _name(self, variables: dict[str, Any], before: str, after: str) -> None:
        for name, value in list(variables.items()):
            if type(value) not in CONTAINERS or not isinstance(name, str):
                continue
            if id(value) in self._found:
                count = self._found[id(value)].count
            else:
                count = 0 if gc.is_tracked(value) else self._arrays_in(value, LEVELS)
            if count:
                words = f"`{before}{name}`, a {type(value).__name__} of {count:,}{after}"
                self._named.add((count, words))


NEITHER = frozenset({np.ndarray, tuple, dict}).isdisjoint
NOT_HOLDERS = (FrameType, ModuleType, type)


def _values(container: Any) -> Iterable[Any]:
    if type(container) is dict:
        return container.values()
    if type(container) is tuple or (type(container) is list and len(container) <= MOST_ITEMS):
        # One that is just being made, by `tuple(generator)` say, has places with nothing in them, and an
        # iterator over it would crash. The collector knows about those.
        return gc.get_referents(container)
    values: Iterable[Any] = container
    return values


def _some_of(container: Any) -> list[Any]:
    try:
        return list(islice(_values(container), MOST_ITEMS))
    except RuntimeError:  # it changed in another thread meanwhile
        return []


def _is_module_dict(container: Any) -> bool:
    return type(container) is dict and "__name__" in container and "__builtins__" in container
