"""From counters to findings: what grows, which of it is one and the same, and who does it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.doctor.accuse import NEED_A_LINE, accuse
from penstock.doctor.axis import axis_of
from penstock.doctor.candidates import BLOCK, Candidate, candidates
from penstock.doctor.findings import CLEAN, LEAK, UNCLEAR, Curve, Diagnosis, Finding
from penstock.doctor.paths import BYTES, MEMBERS, NODES, PLAIN
from penstock.doctor.remedies import remedies
from penstock.doctor.rising import rising
from penstock.doctor.verdict import judge
from penstock.doctor.watching import Watching

FEWEST = 12
"""With fewer moments in a loop nothing is said."""
EXPLAINED = 0.35
"""A finding that explains this part of the bytes that grow explains them all: sizes are estimates."""
DEEPEST = 99
"""Of objects of which nobody knows who keeps them."""
EQUAL = 0.05
DERIVED = 100.0
"""What is computed from longer data may be so many times larger than they are."""
MANY = 10.0
"""So many objects may be inside of one member of a container."""
FIRST = ("shared-memory", "threads", "child-processes", "keras-models")
"""Each of these opens descriptors too, or registers functions, and says more."""
SAME = {("keras-models", "tf-retracing")}
"""A model that is trained has functions of its own."""
THREADED = ("tf-datasets", "penstock-runs")
"""What has some threads of its own."""
INSIDE = {("tf-retracing", "tf-datasets")}
"""A dataset has functions of its own."""
APART = {"jax-arrays", "jax-compile"}
"""Two leaks, where two lines make them, though both grow by one a step."""
MEMORY = ("memory.anonymous", "memory.heap")
CURVES = ("memory.anonymous", "memory.heap", "memory.heap_free", "memory.files")


def diagnose(watching: Watching) -> Diagnosis:
    """What the watch has shown."""
    book = watching.book
    loops = merged(book.stretches())
    stretches = [(loop, span) for loop, span in loops if len(span) >= FEWEST]
    seconds = watching.ended - (watching.loop_began or watching.ended)
    said = Diagnosis(CLEAN, seconds=seconds, moments=len(book))
    if not stretches:
        said.status = UNCLEAR
        said.reason = (
            f"it was too short: {max(len(span) for _, span in loops)} moments in a loop were seen, and "
            f"{FEWEST} are needed"
            if loops
            else "no training loop was seen: no steps of a framework, and no loop in the script"
        )
        return said
    if _too_few(watching, stretches) and rising(book, watching._signals):
        said.status = UNCLEAR
        said.reason = "it was too short: too few moments were left after the warm-up"
        return said
    main = max(stretches, key=lambda one: book.times[one[1].stop - 1] - book.times[one[1].start])
    axis = axis_of(book, main[1])
    said.steps = f"{axis.xs[-1] - axis.xs[0]:,.0f} {axis.name}"
    said.curves = {key: _curve(watching, key, main[1]) for key in CURVES if key in book.series}
    found = list(candidates(watching, stretches))
    minor = any(one.minor for one in found)
    findings = [
        accuse(watching, one)
        for one in found
        if not one.minor and not one.bounded and not one.faint and not (minor and one.vague)
    ]
    bounded = [accuse(watching, one) for one in found if one.bounded]
    for one, candidate in zip(bounded, (one for one in found if one.bounded), strict=True):
        one.anew = candidate.described is not None and not candidate.described.bounded
    if any(one.anew and one.unit == NODES for one in bounded):
        findings = [one for one in findings if one.unit != NODES or one.tier == 3]
    small = [accuse(watching, one) for one in found if one.minor]
    said.findings = settle(_with_line(_names(_histories(_lent(findings)))), bounded, small)
    if any(one.tier == 5 for one in said.findings):
        faint = [accuse(watching, one) for one in found if one.faint]
        more = [one for one in faint if one.place is not None]
        said.findings = settle([*said.findings, *more], bounded, small)
    weigh(said.findings, findings)
    said.notes = [*_minor(found), *(() if said.findings else watching.evidence.waste())]
    said.status = LEAK if said.findings else CLEAN
    return said


def _too_few(watching: Watching, stretches: list[tuple[str, range]]) -> bool:
    book = watching.book
    series = book.series["memory.anonymous"]
    for _, span in stretches:
        xs = axis_of(book, span).xs
        points = list(series.within(span, xs))
        if judge([x for x, _ in points], [y for _, y in points], 0.0).reason != "too short":
            return False
    return True


def merged(stretches: list[tuple[str, range]]) -> list[tuple[str, range]]:
    """Stretches of one loop that only a moment elsewhere has parted are one."""
    found: list[tuple[str, range]] = []
    for loop, span in stretches:
        if len(span) < 3 and found:
            continue
        if found and found[-1][0] == loop:
            found[-1] = (loop, range(found[-1][1].start, span.stop))
        else:
            found.append((loop, span))
    return found


def _lent(findings: list[Finding]) -> list[Finding]:
    """Where Penstock's ledger sees batches pile up, the container that grows is where they are kept."""
    lent = next((one for one in findings if one.key == "memory.lent"), None)
    for one in findings if lent is not None else ():
        if one.kind == "growing-container":
            one.remedy = remedies()["penstock-lent"]
    return findings


def _histories(findings: list[Finding]) -> list[Finding]:
    """Of tensors whose histories become longer, the one that is made from itself: others come from it."""
    long = [one for one in findings if one.unit == NODES and one.place is not None]
    if not long:
        return findings
    told = [one for one in long if one.itself] or [min(long, key=lambda one: (one.tier != 3, one.inside))]
    return [one for one in findings if one.unit != NODES or any(one is other for other in told)]


def _names(findings: list[Finding]) -> list[Finding]:
    """Without a buffer that is another one, under the name of a function: it is met by either name."""

    def is_other(one: Finding, other: Finding) -> bool:
        alike = one.unit == other.unit == BYTES and abs(one.growth.slope / other.growth.slope - 1) < EQUAL
        return alike and one.local and not other.local and set(one.curve.xs).isdisjoint(other.curve.xs)

    return [one for one in findings if not any(is_other(one, other) for other in findings)]


def _with_line(findings: list[Finding]) -> list[Finding]:
    """Without those that have no line where another of the same kind has one."""
    placed = {one.kind for one in findings if one.place is not None}
    return [
        one for one in findings if one.place is not None or not (one.key in NEED_A_LINE or one.kind in placed)
    ]


def settle(
    findings: list[Finding], bounded: Sequence[Finding] = (), small: Sequence[Finding] = ()
) -> list[Finding]:
    """One finding a leak: what a more telling one explains is left out, what fills a bound, or is small."""
    kept: list[Finding] = []
    also: list[Finding] = []
    for one in findings:
        one.together = sum(other.growth.slope for other in findings if _beside(one, other))
        one.within = any(_is_within(one, other, findings) for other in findings if other.unit == MEMBERS)
    for one in sorted(findings, key=_order):
        known = [*kept, *also, *bounded]
        if not any(_explains(other, one, known) for other in kept) and not _fills(one, bounded, small):
            kept.append(one)
        elif one.tier == 3 and one.exact and one.place in {other.place for other in kept if other.tier == 3}:
            also.append(one)  # such as the lists of all classes, which one line makes longer
    return kept


def weigh(kept: Sequence[Finding], found: Sequence[Finding]) -> None:
    """Where the bytes of one finding are a guess, memory that grows by more says how many they are."""
    guesses = [one for one in kept if not one.exact and one.bytes_each]
    if len(guesses) != 1:
        return
    guess = guesses[0]
    memory = [one for one in found if one.key in MEMORY and one.axis.name == guess.axis.name]
    if guess.tier == 5 or not memory:
        return
    most = max(memory, key=lambda one: one.growth.slope)
    others = sum(one.bytes_each or 0.0 for one in kept if one is not guess)
    if most.growth.slope - others > (guess.bytes_each or 0.0):
        guess.bytes_each, guess.forecast = most.growth.slope - others, most.forecast


def _fills(one: Finding, bounded: Sequence[Finding], small: Sequence[Finding]) -> bool:
    """Whether what grows is inside of a container that has a bound, or memory that bookkeeping takes."""
    if one.tier == 4:
        boxes = [other for other in bounded if not other.anew or other.unit == MEMBERS]
        return any(one.growth.slope <= MANY * other.growth.slope for other in boxes)
    return one.tier == 5 and _accounts([*bounded, *small], one)


def _accounts(others: Sequence[Finding], one: Finding) -> bool:
    """Whether the bytes of others are those that grow."""
    known = [
        f.bytes_each * (DERIVED if f.anew else 1.0)
        for f in others
        if f.bytes_each is not None and f.axis.name == one.axis.name
    ]
    slope = one.growth.slope * (BLOCK if one.key == "python.blocks" else 1.0)
    return sum(known) >= EXPLAINED * slope


def _order(one: Finding) -> tuple[int, bool, bool, bool, bool, bool, int, bool, bool, float]:
    """The most telling first: of memory, the heap and not its pages; of objects, what has the others."""
    last = one.key == "memory.anonymous" or one.key.startswith("type builtins.")
    depth = len(one.chain) if one.tier == 4 and one.chain else DEEPEST
    guess = one.tier == 4 and not one.itself
    vague = one.tier == 4 and one.kind == "python-objects"
    said = (one.within, one.inside, depth, guess, not one.named, -(one.bytes_each or 0.0))
    return one.tier, one.kind not in FIRST, vague, last, *said


def _explains(other: Finding, one: Finding, kept: list[Finding]) -> bool:
    keeps = other.tier in (1, 2) and one.tier in (1, 2, 3) and (not one.exact or one.kind == other.kind)
    apart = {one.kind, other.kind} == APART and one.place != other.place
    own = other.key == "process.threads" and one.kind in THREADED
    if keeps and not apart and (own or _alike(one, other)):  # what is kept in a list, and the list
        other.chain = other.chain or one.chain
        if one.place is not None and _names_it(one, other):
            other.place = one.place  # the line that keeps them says more than the one that makes them
            other.remedy, other.what, other.name, other.type = one.remedy, one.what, one.name, one.type
        return True
    if one.place is not None and one.place == other.place:
        return True
    if one.tier == 4:
        return True
    if one.tier == 5:
        return any(not f.exact for f in kept) or _accounts(kept, one)
    if (other.kind, one.kind) in SAME:
        return True
    if one.inside and one.tier == other.tier == 3 and _alike(one, other):
        return True  # what a library notes of each thing that the user keeps
    return one.tier == 3 and other.tier == 2 and one.place is None


def _beside(one: Finding, other: Finding) -> bool:
    """Whether one line makes both longer, such as a list that each member of a population has."""
    line = one.place is not None and one.place == other.place
    return (
        line and one.tier == other.tier == 3 and one.kind == other.kind and one.axis.name == other.axis.name
    )


def _is_within(one: Finding, other: Finding, findings: Sequence[Finding]) -> bool:
    """Whether one is a part of a member of the other, and other members have such parts that grow too."""
    own, end = len(other.way), one.way[len(other.way) + 1 :]
    if not own or not end or one.way[:own] != other.way or not one.way[own].startswith("["):
        return False
    like = [f for f in findings if f.way[:own] == other.way and f.way[own + 1 :] == end]
    return len(like) > 1


def _alike(one: Finding, other: Finding) -> bool:
    """Whether one, or all of its like, grows by as much as the other, or by a few times that."""
    if one.axis.name != other.axis.name:
        return False
    share = one.growth.slope / other.growth.slope
    if any(abs(share * times - 1) < 0.1 for times in (1 / 2, 1, 2, 3, 4)):
        return True
    most = max(one.growth.slope, one.together) / other.growth.slope  # one may be met by several names
    return one.kind == other.kind and share * one.things < 1.1 and most * one.things > 0.9


def _names_it(one: Finding, other: Finding) -> bool:
    """Whether a container of a library's things is where arrays are kept, or what threads belong to."""
    if one.tier != 3 or one.kind in PLAIN or one.inside:
        return False
    return other.tier == 1 or one.kind == other.kind or (other.kind, one.kind) in INSIDE


def _curve(watching: Watching, key: str, span: range) -> Curve:
    points = list(watching.book.series[key].within(span, watching.book.times))
    return Curve(tuple(x for x, _ in points), tuple(y for _, y in points))


def _minor(found: list[Candidate]) -> Iterator[str]:
    for one in found:
        if one.minor:
            yield one.minor
