"""Elements that the user keeps alive: how many, and who refers to them."""

from __future__ import annotations

import gc
import inspect
import sys
import warnings
from collections.abc import Iterator
from types import FrameType, ModuleType
from typing import Any

import numpy as np

from penstock.errors import LentWarning
from penstock.memory.ledger import Ledger, owner_of
from penstock.memory.sizes import show_bytes

LEAST_BYTES = 64 << 20
LEAST_ELEMENTS = 16


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
            stacklevel=4,
        )


def holders(ledger: Ledger) -> list[str]:
    """The containers and variables that refer to lent elements, in the user's words."""
    if ledger.lent_elements < LEAST_ELEMENTS:
        return []
    owners = {id(array) for array in ledger.lent_arrays()}
    found: dict[int, tuple[Any, int]] = {}
    for container in gc.get_objects():
        if type(container) in (list, tuple, dict, set):
            count = _lent_inside(container, owners)
            if count:
                found[id(container)] = (container, count)
    inner = set(found)
    named = [
        (count, words)
        for container, count in found.values()
        for words in _names(container, count, inner, depth=4)
    ]
    return [words for _, words in sorted(set(named), reverse=True)][:5]


def _lent_inside(container: Any, owners: set[int]) -> int:
    try:
        items = list(container.values()) if type(container) is dict else list(container)
    except RuntimeError:  # it changed in another thread meanwhile
        return 0
    return sum(isinstance(item, np.ndarray) and id(owner_of(item)) in owners for item in items)


def _names(container: Any, count: int, inner: set[int], depth: int) -> Iterator[str]:
    """What a container is called: where it is a variable, or an attribute, or inside such a one."""
    if _is_module_dict(container):
        return
    for referrer in gc.get_referrers(container):
        if isinstance(referrer, FrameType):
            continue
        if type(referrer) is dict:
            yield from _names_in_dict(referrer, container, count)
        elif type(referrer) in (list, tuple) and id(referrer) not in inner and depth:
            yield from _names(referrer, len(referrer), inner | {id(referrer)}, depth - 1)
    yield from _names_in_frames(container, count)


def _is_module_dict(container: Any) -> bool:
    return type(container) is dict and "__name__" in container and "__builtins__" in container


def _names_in_dict(namespace: dict[Any, Any], container: Any, count: int) -> Iterator[str]:
    for name, value in list(namespace.items()):
        if value is container and isinstance(name, str):
            home = namespace.get("__name__")
            module = sys.modules.get(home) if isinstance(home, str) else None
            if isinstance(module, ModuleType):
                yield f"`{name}`, a {type(container).__name__} of {count:,} in module {home}"
            else:
                yield f"`{name}`, a {type(container).__name__} of {count:,}"


def _names_in_frames(container: Any, count: int) -> Iterator[str]:
    for top in list(sys._current_frames().values()):
        frame: FrameType | None = top
        while frame is not None:
            module = frame.f_globals.get("__name__", "")
            if frame.f_code.co_flags & inspect.CO_OPTIMIZED and not module.startswith("penstock"):
                yield from _names_in_frame(frame, container, count)
            frame = frame.f_back
        del top  # it may be this very frame, which would then refer to itself


def _names_in_frame(frame: FrameType, container: Any, count: int) -> Iterator[str]:
    variables = frame.f_locals
    names = [name for name, value in variables.items() if value is container]
    if type(variables) is dict:
        # Before Python 3.13 this is a copy that the frame keeps: it would keep what it looks for.
        variables.clear()
    for name in names:
        kind, code = type(container).__name__, frame.f_code
        yield f"`{name}`, a {kind} of {count:,} in {code.co_name}()"
