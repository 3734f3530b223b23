"""What is gathered on who makes things grow: which lines, by watching a few rounds of the loop."""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from types import CodeType, FrameType, FunctionType

from penstock.doctor.book import Book
from penstock.doctor.burst import Burst
from penstock.doctor.paths import Paths
from penstock.doctor.places import Place, Places
from penstock.doctor.referrers import chain_of
from penstock.doctor.signals import Look, Signal, Suspect, kept_kind, loaded, made_classes
from penstock.doctor.source import name_in
from penstock.doctor.verdict import quarters
from penstock.doctor.walk import Node, World

MOST = 24
"""So many suspects are watched at once."""
LATEST = 4
"""So many bursts are kept."""
LINKS = 30
"""Things of which each has the next, so many in a row, are a chain."""
ASKED = 3
"""Of so many types it is asked who keeps them: it takes a while."""
LONG = 0.4
"""Seconds after which no more is asked: where there are many objects, one answer takes as long."""
ALWAYS = ("memory.heap", "memory.anonymous")
LEAST = {"length": 4.0, "buffer": 1024.0, "history": 20.0, "type": 20.0}
"""What must come on top for a container, a buffer or a type to be asked after."""
PLAIN = ("builtins.", "collections.", "weakref.ReferenceType", "weakref.KeyedRef", "array.")
CODE = tuple(
    f"builtins.{name}" for name in ("function", "method", "module", "generator", "coroutine", "type")
)
"""Of Python's own types those that nobody makes many of for a short time."""
LEAST_PLAIN = 1000.0
"""Of lists, dicts and tuples there are many, and some of them are the doctor's own, as its series are."""


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


@dataclass(frozen=True)
class Kept:
    """Who keeps objects of a type."""

    kind: str
    chain: tuple[str, ...]
    name: str = ""
    """The user's name at the beginning of the chain, and its file."""
    file: str = ""


class Evidence:
    """Suspects while the script runs, and what watching their lines has shown."""

    def __init__(self, places: Places, paths: Paths) -> None:
        self.places = places
        self.paths = paths
        self.bursts: list[Rounds] = []
        self.suspects: dict[str, Suspect] = {}
        """What signals say themselves of who it is."""
        self.types: dict[str, Kept] = {}
        """Of types that grow: who keeps them."""
        self.focus = (0.0, float("inf"))
        """The time that is asked about: what was seen in loops before it and after it does not count."""
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
        began, thawed = perf_counter(), False
        for name in sorted(names, key=lambda name: (name.startswith(PLAIN), -look.types[name]))[:ASKED]:
            if perf_counter() - began > LONG:
                break
            if f"type {name}" not in self.types:
                thawed = self._ask(name, look) or thawed
        return thawed

    def _ask(self, name: str, look: Look) -> bool:
        """Who keeps objects of a type; whether there was one to ask of.

        One in the middle says who keeps them; the newest, if each keeps the one before. Which end that one is
        at, the collector does not say.
        """
        linked = linked_name(self.paths.world, name)
        if linked is not None:
            self.types[f"type {name}"] = Kept(linked.kind, linked.chain, linked.name, linked.file)
            return False
        mine = [one for one in look.objects if f"{type(one).__module__}.{type(one).__qualname__}" == name]
        asked = [mine[len(mine) // 2], mine[-1], mine[0]] if mine else []
        if not gc.isenabled():
            del asked[1:]  # those that nobody has any more are there too: a name may have the last
        del mine
        for thing in asked:
            chain = chain_of(thing, self.places)
            kind = kept_kind(thing, "") or "python-objects"
            self.types[f"type {name}"] = Kept(kind, chain.labels, chain.name, chain.file)
            if chain.holder is not None:
                self.paths.world.keepers.add(chain.holder, chain.labels[0].strip("`"))
                self.soon = True
            if chain.name or (chain.labels and not is_plain(name)):
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

    def add(self, burst: Burst, at: float = 0.0) -> None:
        """Keep what a burst has seen that began at a time."""
        self.bursts.append(Rounds(burst.grew, burst.sites, burst.ran, burst.rounds, at))
        del self.bursts[:-LATEST]

    def seen(self) -> list[Rounds]:
        """The bursts that tell of the time in question."""
        return [one for one in self.bursts if self.focus[0] <= one.at <= self.focus[1]]

    def lines(self, key: str) -> dict[Place, list[float]]:
        """What each line has added to a counter, over all bursts but the first where there are more."""
        seen = [burst.grew[key] for burst in self.seen() if key in burst.grew]
        total: dict[Place, list[float]] = {}
        for one in seen[1:] if len(seen) > 1 else seen:
            for place, gained in one.items():
                total.setdefault(place, []).extend(gained)
        return total

    def within(self, key: str) -> tuple[str, ...]:
        """Who keeps a type of which it was not asked, by the chain of what is inside of it."""
        name = key.rpartition(".")[2]
        chains = [known.chain for known in self.types.values() if name in known.chain]
        return chains[0][: chains[0].index(name) + 1] if chains else ()

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
                if rounds >= ASKED and count >= max(ASKED, 0.5 * rounds):
                    said.append(f"{place}: {text}")
        return said

    def rounds(self) -> int:
        """How many rounds of the loop were watched, those of the first burst left out where there "
        "are more."""
        bursts = self.seen()
        return sum(burst.rounds for burst in bursts[1:] or bursts)


def linked_name(world: World, kind: str) -> Kept | None:
    """The name of the user's whose object has another of its type, and that another, and so on."""
    for node in world.walk():
        found = type(node.thing)
        if f"{found.__module__}.{found.__qualname__}" != kind or not _is_linked(node.thing):
            continue
        root = node.root()
        name = name_in(tuple(label for label in _labels(node)))
        inside = f" in `{root.scope}`" if root.scope else ""
        chain = (f"`{node.path()}`{inside}", found.__name__, found.__name__)
        return Kept(kept_kind(node.thing, "") or "python-objects", chain, name, root.file)
    return None


def _at_line(signal: Signal, look: Look, _: FrameType) -> float | None:
    return signal.value(look, line=True)


def _labels(node: Node) -> list[str]:
    found: list[str] = []
    at: Node | None = node
    while at is not None:
        found.append(at.label)
        at = at.above
    return found[::-1]


def _is_linked(thing: object) -> bool:
    kind, seen = type(thing), {id(thing)}
    for _ in range(LINKS):
        inside = [one for one in gc.get_referents(thing) if type(one) is kind or type(one) is dict]
        inside += [one for table in inside if type(table) is dict for one in table.values()]
        following = next((one for one in inside if type(one) is kind and id(one) not in seen), None)
        if following is None:
            return False
        seen.add(id(following))
        thing = following
    return True


def _maker(owner: object, kind: str, found: dict[CodeType, str]) -> None:
    init = getattr(owner, "__init__", None)
    if isinstance(init, FunctionType):
        found.setdefault(init.__code__, kind)


def growing(book: Book) -> list[str]:
    """What is higher by now than at half of the time, and was higher there than at first."""
    found = []
    for key, series in book.series.items():
        values = series.values
        if len(values) >= 3 and values[-1] > values[len(values) // 2] >= values[0] and values[-1] > values[0]:
            found.append(key)
    return found


def least_of(key: str) -> float:
    """What must come on top of a length, a buffer or a type."""
    kind, _, name = key.partition(" ")
    if name.startswith("penstock.doctor."):
        return float("inf")
    return LEAST_PLAIN if kind == "type" and is_plain(name) else LEAST.get(kind, 0.0)


def is_plain(name: str) -> bool:
    """Whether there are many of a type at any time, which come and go."""
    return name.startswith(PLAIN) and name not in CODE


def rising(book: Book, signals: list[Signal]) -> set[str]:
    """Of those, what goes on rising over the quarters of the time after the warm-up, by what matters."""
    least = {signal.key: signal.least for signal in signals}
    found = set()
    for key in growing(book):
        values = book.series[key].values
        levels = quarters(values[len(values) // 5 :])
        enough = least.get(key, least_of(key)) / 4
        if levels[-1] - levels[0] >= enough and levels == sorted(levels):
            found.add(key)
    return found
