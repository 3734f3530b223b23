"""What is gathered on who makes things grow: which lines, by watching a few rounds of the loop."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from functools import partial
from time import thread_time
from types import CodeType, FrameType, FunctionType

from penstock.doctor.book import Book
from penstock.doctor.bursts import ALWAYS, Bursts
from penstock.doctor.linked import Kept, linked_names
from penstock.doctor.paths import Paths
from penstock.doctor.places import Place, Places
from penstock.doctor.referrers import chain_of
from penstock.doctor.rising import CODE, growing, is_plain, rising
from penstock.doctor.signals import Look, Signal, Suspect, kept_kind, loaded, made_classes

MOST = 24
"""So many suspects are watched at once."""
ASKED = 3
"""Of so many types it is asked who keeps them: it takes a while."""
LONG = 0.4
"""Seconds after which no more is asked: where there are many objects, one answer takes as long."""


class Evidence(Bursts):
    """Suspects while the script runs, and what watching their lines has shown."""

    def __init__(self, places: Places, paths: Paths) -> None:
        self.places = places
        self.paths = paths
        super().__init__()
        self.suspects: dict[str, Suspect] = {}
        """What signals say themselves of who it is."""
        self.types: dict[str, Kept] = {}
        """Of types that grow: who keeps them."""
        self.at_work_in: set[tuple[str, int]] = set()
        """The user's functions that were seen at work, by their files and first lines."""
        self.soon = False
        """Whether something has come to light whose lines are to be watched."""
        self._last: dict[str, float] = {}
        self._at_work: dict[str, dict[Place, list[float]]] = {}

    def question(self, book: Book, look: Look, signals: list[Signal], thaw: bool) -> bool:
        """Ask, while everything is still there, who keeps what grows.

        Of objects that have no name it can be found only among all that there is, thawed: if it may be, and
        whether it was.
        """
        found = rising(book, signals)
        named = {signal.key for signal in signals if signal.kind and not signal.bytes} - {"python.blocks"}
        for signal in signals:
            if signal.suspect is not None and signal.key in found:
                try:
                    said = signal.suspect(self.places)
                except Exception:  # a library of another version
                    continue
                if said.place is not None or signal.key not in self.suspects:
                    self.suspects[signal.key] = said
        if not thaw or any(key in named or self.paths.matters(key) for key in found):
            return False  # it has a name already, or there will be time for it later
        names = [key[5:] for key in found if key.startswith("type ")]
        began, thawed = thread_time(), False
        self.types.update(linked_names(self.paths.world, {n for n in names if f"type {n}" not in self.types}))
        ranked = sorted(names, key=lambda name: (is_plain(name), name in CODE, -look.types[name]))
        for name in ranked[:ASKED]:
            if thread_time() - began > LONG:
                break
            if f"type {name}" not in self.types:
                thawed = self._ask(name, look) or thawed
        return thawed

    def _ask(self, name: str, look: Look) -> bool:
        """Who keeps objects of a type; whether there was one to ask of.

        One in the middle says who keeps them; the newest, if each keeps the one before. Which end that one is
        at, the collector does not say.
        """
        mine = [one for one in look.objects if f"{type(one).__module__}.{type(one).__qualname__}" == name]
        asked = [mine[len(mine) // 2], mine[-1], mine[0]] if mine else []
        if not gc.isenabled():
            del asked[1:]  # those that nobody has any more are there too: a name may have the last
        del mine
        for thing in asked:
            chain = chain_of(thing, self.places, (asked, look.objects))
            kind = kept_kind(thing, "") or "python-objects"
            self.types[f"type {name}"] = Kept(kind, chain.labels, chain.name, chain.file)
            if chain.holder is not None:
                keepers = self.paths.world.keepers
                keepers.add(chain.holder, chain.labels[0].strip("`"), named=bool(chain.name))
                self.soon = True
            if chain.alone or chain.name or (chain.labels and not is_plain(name)):
                break
        return bool(asked)

    def moment(self, key: str, value: float, place: Place | None) -> None:
        """A counter was read, while the user's code was at a line."""
        rise = value - self._last.get(key, value)
        self._last[key] = value
        if rise > 0 and place is not None:
            self._at_work.setdefault(key, {}).setdefault(place, []).append(rise)

    def at_work(self, key: str) -> dict[Place, list[float]]:
        """The lines at which a counter was found to have risen: a hint, where no line was seen to do it."""
        return self._at_work.get(key, {})

    def wanted(self, book: Book, signals: list[Signal]) -> bool:
        """Whether the lines are worth watching: once in any case, then if something goes on rising."""
        return not self.bursts or bool(rising(book, signals))

    def makers(self) -> dict[CodeType, str]:
        """The code that makes things of the kinds of interest."""
        found: dict[CodeType, str] = {}
        for kind, (module, name) in made_classes().items():
            if loaded(module):
                _maker(getattr(sys.modules[module], name, None), kind, found)
        for key in growing(self.paths.book):
            if key.startswith("type "):
                module, _, name = key[5:].rpartition(".")
                _maker(getattr(sys.modules.get(module), name, None), key, found)
        return found

    def probes(self, book: Book, signals: list[Signal]) -> dict[str, Callable[[FrameType], float | None]]:
        """What to read at every line."""
        suspects = set(growing(book))
        look = Look()
        found: dict[str, Callable[[FrameType], float | None]] = {}
        lengths = {key for key in suspects if key.startswith(("length ", "buffer ", "history "))}
        for signal in signals:
            dear = signal.key == "python.blocks" and lengths
            if signal.quick and (signal.key in suspects or signal.key in ALWAYS) and not dear:
                found[signal.key] = partial(_at_line, signal, look)
        risen = rising(book, signals)
        ranked = sorted(lengths, key=lambda key: (key not in risen, key))
        found.update(self.paths.probes(set(ranked[:MOST])))
        return found

    def within(self, key: str) -> tuple[str, ...]:
        """Who keeps a type of which it was not asked, by the chain of what is inside of it."""
        name = key.rpartition(".")[2]
        chains = [known.chain for known in self.types.values() if name in known.chain]
        return chains[0][: chains[0].index(name) + 1] if chains else ()


def _at_line(signal: Signal, look: Look, _: FrameType) -> float | None:
    return signal.value(look, line=True)


def _maker(owner: object, kind: str, found: dict[CodeType, str]) -> None:
    init = getattr(owner, "__init__", None)
    if isinstance(init, FunctionType):
        found.setdefault(init.__code__, kind)
