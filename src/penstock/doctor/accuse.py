"""Who makes it grow: the line, the chain of references, and the sentence that says so."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median

from penstock.doctor.burst import HEAP, LOOSE
from penstock.doctor.candidates import Candidate
from penstock.doctor.findings import Finding
from penstock.doctor.forecast import forecast_bytes, forecast_descriptors
from penstock.doctor.linked import Kept
from penstock.doctor.paths import BYTES, NODES, Described
from penstock.doctor.places import Place
from penstock.doctor.remedies import remedies
from penstock.doctor.source import bound_at, called, function_at, growing_lines, name_in, rebound, spelled
from penstock.doctor.watching import Watching
from penstock.memory.sizes import show_bytes

EXACT, LARGE = ("ndarray", "bytes", "bytearray", "str", "float", "int"), 65536
"""Members whose bytes are known, as those of large ones are; of others they are a guess."""
MAPPED = ("memmap", "mmap")
"""Members that each have a descriptor of their own: one leak, not two."""
DIRECT = 3
"""So long a chain is a name, perhaps an attribute, and the thing: where the name was bound says enough."""
PAIRED = 0.05
NEED_A_LINE = ("process.segments",)
"""What other processes make grow too: it counts where a line of the script was seen to do it."""
ALIKE = 0.15
"""Lines that add as much as one another, but for so much: a burst ends between two of them."""
HELD = 0.1
"""If less than this part of what a line takes is without a name afterwards, it has one."""
CLOSE = 0.3
"""A line whose share is that close to the whole growth is the line, whatever others take and give back."""


def accuse(watching: Watching, one: Candidate) -> Finding:
    """The finding of a candidate."""
    remedy = remedies()[one.kind]
    watching.evidence.focus = one.during
    finding = Finding(remedy, "", one.unit, one.axis, one.growth, one.tier, curve=one.curve, key=one.key)
    per_step = one.axis.one == "a step"
    if one.described is not None:
        _of_path(watching, one, one.described, finding)
    elif one.key.startswith("type "):
        _of_type(watching, one, finding)
    else:
        _of_signal(watching, one, finding)
    if one.kind == "file-descriptors" and one.tier == 1:
        finding.forecast = forecast_descriptors(
            one.last, one.growth.slope if per_step else None, one.by_second
        )
    elif finding.bytes_each:
        scale = finding.bytes_each / one.growth.slope
        anon = watching.book.series.get("memory.anonymous")
        now = anon.values[-1] if anon else 0.0
        step = finding.bytes_each if per_step else None
        finding.forecast = forecast_bytes(now, step, one.by_second * scale)
    return finding


def _of_path(watching: Watching, one: Candidate, found: Described, finding: Finding) -> None:
    places, name = watching.places, name_in(found.labels)
    finding.bytes_each = one.growth.slope * found.each
    large = found.each >= LARGE and not found.made_up and not found.unseen and found.member not in MAPPED
    finding.exact = found.unit == BYTES or found.member in EXACT or large
    finding.inside, finding.local, finding.things = found.inside, bool(found.scope), found.things
    finding.way = (found.file, found.scope, *found.labels)
    files = found.files or (found.file,)
    if found.met and not found.file:  # a library's: by its last name, in whatever file of the user's
        modules = [module for _, module in watching.paths.world.user_modules()]
        files = (watching.script or "", *(str(getattr(one, "__file__", "")) for one in modules))
    finding.bound = next((at for file in files if (at := bound_at(places, file, name))), None)
    finding.place = likely(watching.evidence.lines(one.key))
    if finding.place is not None:
        finding.place = _elsewhere(watching, found, finding.place)
    for label in reversed(found.labels):
        for file in files if finding.place is None else ():
            finding.place = finding.place or _by_source(watching, file, name_in((label,)))
    if finding.place is None:
        finding.place = likely(watching.evidence.lines(HEAP)) or finding.bound
    if found.made_line:
        finding.place = Place(found.file, found.made_line)
    finding.named = finding.place is not None and any(
        finding.place in growing_lines(places, finding.place.file, name_in((label,)))
        for label in found.labels
    )
    whose = ("self",) if found.met and found.labels[0].isidentifier() else found.labels[:1]
    finding.name, finding.type = spelled("".join(whose + found.labels[1:])) or name, found.type
    if found.unit == NODES and finding.place is not None:
        finding.itself = finding.place in growing_lines(places, finding.place.file, name)
    rounds = watching.evidence.rounds(one.axis.key)
    heap = likely(watching.evidence.lines(HEAP), one.growth.slope * found.each * rounds)
    finding.made = heap if heap != finding.place else None
    where = f" in `{finding.bound}`" if finding.bound else ""
    member = f" of {found.member}" if found.member not in ("", "NoneType") else ""
    thing = "an" if found.type[:1].lower() in "aeiou" else "a"
    amount = show_bytes(int(one.growth.slope)) if found.unit == BYTES else f"{one.growth.slope:.3g}"
    grows = f"whose history grows by {amount} nodes" if found.unit == NODES else f"that grows by {amount}"
    finding.what = f"`{found.path}`{where}, {thing} {found.type}{member} {grows} {one.axis.one}"
    inside = f"function `{found.scope}`" if found.scope else "module"
    chain = [f"`{found.labels[0]}` in the {inside}"]
    for label, owner in zip(found.labels[1:], found.owners[1:], strict=True):
        chain.append(f"`{label}` ({owner})" if label else owner)
    finding.chain = tuple(chain)


def _elsewhere(watching: Watching, found: Described, place: Place) -> Place:
    """The line of another thread that makes it longer, where the one that was seen does not.

    Lines are followed on one thread: what another adds is seen at whatever line that one is at. A library's
    threads call the user's code for a moment only: it may never have been seen at work there.
    """
    names = [*((found.file, name_in((label,))) for label in found.labels), *sorted(found.aliases)]
    lines = [line for file, name in names for line in growing_lines(watching.places, file, name)]
    ran = {line for burst in watching.evidence.seen() for line in burst.ran}
    others = [line for line in lines if line not in ran]
    threads = watching.paths.world.threads or others == lines
    return others[-1] if threads and others and place not in lines else place


def _by_source(watching: Watching, file: str, name: str) -> Place | None:
    lines = growing_lines(watching.places, file, name)
    ran: Counter[Place] = Counter()
    for burst in watching.evidence.seen():
        ran.update(burst.ran)
    seen = [place for place in lines if place in ran]
    if seen:
        return max(seen, key=lambda place: ran[place])
    active = watching.evidence.at_work_in
    near = [one for one in lines if (file, function_at(watching.places, file, one.line)) in active]
    return near[-1] if near else lines[-1] if lines else None


def _of_signal(watching: Watching, one: Candidate, finding: Finding) -> None:
    signal = one.signal
    assert signal is not None
    rounds = watching.evidence.rounds(one.axis.key)
    evidence = watching.evidence
    lines, weight = evidence.lines(one.key), evidence.lines(LOOSE if signal.bytes else HEAP)
    seen = lost(lines, weight) if one.key == HEAP else lines
    finding.place = likely(seen, one.growth.slope * rounds, weight)
    if signal.suspect is not None and signal.key in watching.evidence.suspects:
        said = watching.evidence.suspects[signal.key]
        finding.place = finding.place or said.place
        finding.bound = said.place if said.place != finding.place else None
        finding.chain = said.chain
        finding.what = said.what
    if signal.objects and not signal.quick:  # it is not read at lines
        finding.place = finding.place or most(evidence.sites(one.kind))
    if finding.place is None and not signal.bytes and signal.key not in NEED_A_LINE:
        finding.place = likely(evidence.at_work(one.key))
    if signal.bytes:
        finding.bytes_each = one.growth.slope
        amount = show_bytes(int(one.growth.slope))
        finding.what = finding.what or f"{finding.remedy.title.lower()}: {amount} more {one.axis.one}"
    else:
        finding.what = finding.what or f"{one.growth.slope:.3g} more {one.unit} {one.axis.one}"


def _of_type(watching: Watching, one: Candidate, finding: Finding) -> None:
    evidence = watching.evidence
    known = evidence.types.get(one.key)
    if known is not None:
        finding.chain = known.chain
        finding.remedy = remedies()[known.kind]
    else:
        finding.chain = evidence.within(one.key)
    if not gc.isenabled() and not finding.chain:
        finding.remedy = remedies()["cycles"]
    finding.place = most(evidence.sites(one.key)) or most(evidence.sites(finding.remedy.kind))
    finding.itself = finding.place is not None
    if finding.place is None and known is not None and known.name:
        finding.place = _by_name(watching, known)
    if finding.place is None:
        finding.place = likely(evidence.lines("python.blocks")) or likely(evidence.lines(HEAP))
    kept = f", kept by {finding.chain[0]}" if finding.chain else ""
    finding.what = f"{one.growth.slope:.3g} more objects of {one.unit} {one.axis.one}{kept}"


def _by_name(watching: Watching, known: Kept) -> Place | None:
    """The line that makes what a name keeps longer, or binds it anew, or else made it."""
    found = _by_source(watching, known.file, known.name)
    if found is None:
        ran = {line for burst in watching.evidence.seen() for line in burst.ran}
        again = [
            line
            for lines in (called, rebound)
            for line in lines(watching.places, known.file, known.name)
            if line in ran
        ]
        found = again[-1] if again else None
    direct = len(known.chain) <= DIRECT
    return found or (bound_at(watching.places, known.file, known.name) if direct else None)


def lost(
    lines: Mapping[Place, Sequence[float]], loose: Mapping[Place, Sequence[float]]
) -> Mapping[Place, Sequence[float]]:
    """Without the lines that take what a name has then, or give back what a name had."""
    left = {
        place: deltas
        for place, deltas in lines.items()
        if abs(sum(loose.get(place, deltas))) >= HELD * abs(sum(deltas))
    }
    return left if any(sum(deltas) > 0 for deltas in left.values()) else lines


def likely(
    lines: Mapping[Place, Sequence[float]],
    whole: float | None = None,
    weight: Mapping[Place, Sequence[float]] | None = None,
) -> Place | None:
    """The line that makes it grow: the one whose share is the whole, or else the one that adds most.

    Lines of which one takes each time what the other gives back are left out first. Of lines that add as
    much, it is the one with the most `weight`, or the first; of those that can have taken what is given back,
    the one with the least.
    """
    weights = {place: sum((weight or {}).get(place, ())) for place in lines}
    usual = {place: median(deltas) for place, deltas in lines.items()}
    for place, fallen in sorted(usual.items(), key=lambda item: item[1]):
        if fallen < 0:
            back = -sum(lines[place])
            takers = [
                p
                for p, m in usual.items()
                if abs(m + fallen) <= -PAIRED * fallen and abs(sum(lines[p]) - back) <= CLOSE * back
            ]
            taker = min(takers, key=lambda p: weights[p]) if takers else None
            alike = [p for p, m in usual.items() if m > 0 and abs(sum(lines[p]) - back) <= PAIRED * back]
            if (
                taker is None and len(alike) == 1
            ):  # it gives back at some times, and does other things at others
                taker = alike[0]
            if taker is not None:
                usual.pop(taker)
                usual.pop(place)
    gains = {place: sum(lines[place]) for place in usual}
    gains = {place: gained for place, gained in gains.items() if gained > 0}
    if not gains:
        return None
    close = {place: abs(gained - whole) / whole for place, gained in gains.items()} if whole else {}
    nearest = min(close.values(), default=CLOSE)
    if nearest < CLOSE:
        equal = [place for place, off in close.items() if off <= nearest + PAIRED]
    else:
        most_gained = max(gains.values())
        equal = [place for place, gained in gains.items() if gained >= (1 - ALIKE) * most_gained]
    return min(equal, key=lambda place: (-weights[place], place.file, place.line))


def most(lines: Counter[Place]) -> Place | None:
    """The line that comes most often."""
    return max(lines, key=lambda place: lines[place]) if lines else None
