"""What grows, counter by counter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.doctor.axis import axis_of
from penstock.doctor.findings import Axis, Curve
from penstock.doctor.paths import BYTES, INNER, LENGTH, MEMBERS, NODES, PLAIN, Described
from penstock.doctor.rising import LEAST_PLAIN, is_plain
from penstock.doctor.signals import Signal, loaded
from penstock.doctor.source import name_in, remade_lines
from penstock.doctor.verdict import Growth, judge, quarters, theil_sen
from penstock.doctor.watching import Watching
from penstock.memory.sizes import show_bytes

SMALL = 400.0
"""Bytes a step below which a growing container is bookkeeping, such as a list of losses; half as many where
a library's objects are kept, of which the bytes are more than one can see."""
FAST, MUCH = 1e6, 4e6
"""Bytes a second, and in all, from which on it matters however small each is."""
SLOW, SLOWEST = 128e3, 32e3
"""Bytes a second below which small members are bookkeeping, however many a step brings: that may be an epoch.
The second is of what is no list, but may be a cache."""
STOPPED = 0.3
"""Growth in a loop that is over counts, unless other loops have gone on for this part of its time since."""
LEAST = {MEMBERS: 8.0, BYTES: 4096.0, NODES: 20.0}
MANY = 20.0
"""Of many containers in one, so many times more members must come."""
LEAST_OBJECTS = 20.0
LEAST_FOREIGN, SELDOM = 60.0, 0.2
"""Of a library's types: so many, and so many a step; libraries fill caches of their own for a while."""
LEAST_NAMED = 8.0
"""Of objects that a name of the user's is known to keep."""
CALM, RUNTIMES = 4.0, ("tensorflow", "torch", "jax")
"""Runtimes settle slowly: with one of them, memory must grow by so many times more to count."""
ASKED = 0.3
"""Pages that come into use are no growth where less than this part of them was asked for meanwhile."""
LISTS = ("list", "tuple", "deque")
BLOCK = 48.0
"""About the bytes of a small object of Python."""


Grown = tuple[Axis, Growth, float, Curve, float, tuple[float, float]]


@dataclass
class Candidate:
    """A counter that grows."""

    key: str
    kind: str
    unit: str
    tier: int
    axis: Axis
    growth: Growth
    by_second: float
    curve: Curve
    last: float
    during: tuple[float, float]
    """When the loop in which it grows was at work."""
    signal: Signal | None = None
    described: Described | None = None
    minor: str = ""
    """If it does not matter: what to say of it."""
    faint: bool = False
    """Whether it counts only where memory grows that nothing else explains: there are few of them."""
    bounded: bool = False
    """Whether it has a bound: no finding, but memory that it fills is no finding either."""

    @property
    def vague(self) -> bool:
        """Whether it counts the small objects of Python as a whole, those that do not matter too."""
        return self.key == "python.blocks" or self.key.startswith("type builtins.")


def candidates(watching: Watching, stretches: list[tuple[str, range]]) -> Iterator[Candidate]:
    """All that grows and goes on growing."""
    known = {signal.key: signal for signal in watching._signals}
    for key in list(watching.book.series):
        signal = known.get(key)
        if signal is not None:
            if not signal.kind:
                continue
            tier = (
                5 if signal.bytes or key == "python.blocks" else 1 if signal.key.startswith("process.") else 2
            )
            found = grows(watching, stretches, key, signal.least * (CALM if _noisy(key) else 1))
            if found is not None and (signal.within or signal.idle):
                found = _used(watching, signal, found)
            if found is not None:
                one = Candidate(key, signal.kind, signal.unit, tier, *found, signal=signal)
                if tier < 5 or _matters(one, BLOCK if key == "python.blocks" else 1.0):
                    yield one
        elif key.startswith("type "):
            if key.startswith(("type penstock.doctor.", "type array.")):
                continue
            user = watching.paths.world.of_user_module(key[5:].rpartition(".")[0])
            least = LEAST_PLAIN if is_plain(key[5:]) else LEAST_OBJECTS if user else LEAST_FOREIGN
            keeper = watching.evidence.types.get(key)
            named = keeper is not None and bool(keeper.name)
            found = grows(watching, stretches, key, LEAST_NAMED if named else least)
            if found is not None:
                enough = found[1].gained >= least and (user or found[1].slope >= SELDOM)
                if enough or named:
                    unit = f"`{key.rpartition('.')[2]}`"
                    yield Candidate(key, "python-objects", unit, 4, *found, faint=not enough)
        else:
            yield from _path(watching, stretches, key)


def _path(watching: Watching, stretches: list[tuple[str, range]], key: str) -> Iterator[Candidate]:
    described = watching.paths.described.get(key)
    if described is None:
        return
    unit = described.unit
    found = grows(watching, stretches, key, LEAST[unit] * (MANY if key.startswith(INNER) else 1.0))
    if found is None or _is_longer(watching, stretches, key):
        return
    bound = described.bounded or _anew(watching, described)
    one = Candidate(key, described.kind, unit, 3, *found, described=described, bounded=bound)
    least = SMALL / 2 if described.made_up else SMALL
    small = _is_bookkeeping(one, described) or not _matters(one, described.each, least)
    if not one.bounded and described.kind in PLAIN and small:
        one.minor = (
            f"`{described.path}` grows by {show_bytes(one.growth.slope * described.each)} {one.axis.one}: "
            "too little to matter."
        )
    yield one


def _is_longer(watching: Watching, stretches: list[tuple[str, range]], key: str) -> bool:
    """Whether a container becomes longer itself: then that says enough of those that are in it."""
    whole = f"{LENGTH}{key.removeprefix(INNER)}"
    known = key.startswith(INNER) and whole in watching.book.series
    return known and grows(watching, stretches, whole, LEAST[MEMBERS]) is not None


def _anew(watching: Watching, described: Described) -> bool:
    """Whether it is made anew each time: the data become longer, or episodes last longer."""
    if not described.beginning.anew:
        return False
    names = {name_in((label,)) for label in described.labels}
    remade = (remade_lines(watching.places, file, name) for file in described.files for name in names)
    return described.unit == NODES or not any(remade)


def _used(watching: Watching, signal: Signal, found: Grown) -> Grown | None:
    """Without an array that was there before and is filled bit by bit, and without what is kept free."""
    axis, growth, by_second, curve, last, during = found
    asked, idle = (_gained(watching, key, axis, curve) for key in (signal.within, signal.idle))
    if asked is not None and asked < ASKED * growth.gained:
        return None
    share = 1.0 - max(0.0, idle or 0.0) / growth.gained
    if share < ASKED:
        return None
    less = Growth(growth.slope * share, growth.low * share, growth.high * share, growth.gained * share)
    return axis, less, by_second * share, curve, last, during


def _gained(watching: Watching, key: str, axis: Axis, curve: Curve) -> float | None:
    """What a counter has gained over the stretch of a curve, after the warm-up."""
    series = watching.book.series.get(key)
    if series is None:
        return None
    points = series.within(range(len(axis.xs)), axis.xs)
    ys = [y for x, y in points if curve.xs[0] <= x <= curve.xs[-1]]
    levels = quarters(ys[len(ys) // 5 :])
    return levels[-1] - levels[0]


def _noisy(key: str) -> bool:
    return key in ("memory.heap", "memory.anonymous") and any(map(loaded, RUNTIMES))


def _is_bookkeeping(one: Candidate, found: Described) -> bool:
    """Whether small members come slowly: the losses of each batch, where a step is an epoch."""
    plain = one.kind == "growing-container" and not found.made_up and found.each < SMALL
    return plain and one.by_second * found.each < (SLOW if found.type in LISTS else SLOWEST)


def _matters(one: Candidate, each: float, least: float = SMALL) -> bool:
    """Whether the bytes are more than bookkeeping: of a step, or where steps are quick, of a second."""
    gained = one.growth.gained * each
    if one.by_second * each >= FAST and gained >= MUCH:
        return True
    return one.growth.slope * each >= least if one.axis.one == "a step" else gained >= MUCH / 8


def grows(watching: Watching, stretches: list[tuple[str, range]], key: str, least: float) -> Grown | None:
    """Whether a counter grows in one of the loops, and was not flat for longer after it."""
    book = watching.book
    series = book.series[key]
    for _, span in stretches:
        axis = axis_of(book, span)
        points = list(series.within(span, axis.xs))
        judged = judge([x for x, _ in points], [y for _, y in points], least)
        if judged.growth is None:
            continue
        lasted = book.times[span.stop - 1] - book.times[span.start]
        if book.times[-1] - book.times[span.stop - 1] > STOPPED * lasted:
            continue  # it was built up once, and then used
        timed = list(series.within(span, book.times))
        by_second = theil_sen([x for x, _ in timed[-60:]], [y for _, y in timed[-60:]])[0]
        curve = Curve(tuple(x for x, _ in points), tuple(y for _, y in points))
        during = (book.times[span.start], book.times[span.stop - 1])
        return axis, judged.growth, by_second, curve, points[-1][1], during
    return None
