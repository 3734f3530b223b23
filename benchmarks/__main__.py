"""`python -m benchmarks`: run the works, print the tables and write RESULTS.md."""

import argparse
import compileall
import importlib.util
import subprocess
import sys
from pathlib import Path

from benchmarks import charts, flat, machine, measure, memory, report, resume, speed, tuned, words
from benchmarks.declare import MODULES, Peer, Work
from benchmarks.measure import Seen
from benchmarks.memory.pipeline import Pipeline

ROUNDS = {"penstock": 2, "tf.data": 2, "torch": 2, "grain": 1, "no library": 2}
LAST_ROUNDS = 8
"""So many times what is compared is run by turns, where it differs little."""
GRID_ROUNDS, GRID_LAST_ROUNDS = 2, 4
SLOW_PASS = 3.0


def main() -> int:
    """Run what was asked for; the exit status says whether everything ran."""
    options = arguments()
    compile_kernels()
    bystanders = machine.Bystanders()
    results = report.Results(machine.describe())
    for work in (each for each in speed.WORKS if wanted(options.only, "speed", each.name)):
        results.speed[work] = run_speed(work, options.quick)
    if wanted(options.only, "speed", "words"):
        progress("words")
        results.words = words.measured()
    for pipeline in memory.PIPELINES:
        if wanted(options.only, "memory", pipeline.name):
            results.memory[pipeline] = run_memory(pipeline, options.quick)
    for each in tuned.WORKS:
        if wanted(options.only, "tuned", each.name):
            results.tuned[each] = run_tuned(each)
    for name, (title, _) in resume.WORKS.items():
        if wanted(options.only, "resume", f"resume_{name}"):
            progress(f"resume: {name}")
            results.resume[title] = resume.measured(name)
    for name in flat.WORKS:
        if wanted(options.only, "flat", name):
            progress(f"flat: {name}")
            results.flat[flat.WORKS[name]] = measure.points(name)
    results.machine += bystanders.describe()
    progress("")
    text = report.write(results)
    print(text)
    whole = not options.only and not options.quick
    if options.output or whole:
        (options.output or charts.RESULTS).write_text(text)
    if whole and not options.output:
        charts.write()
    for trouble in results.trouble():
        print(trouble, file=sys.stderr)
    return 1 if results.trouble() else 0


def compile_kernels() -> None:
    """Have Python and Numba compile what is compiled once on a machine: it is no part of any measurement."""
    progress("compiling kernels")
    found = importlib.util.find_spec("penstock")
    for folder in found.submodule_search_locations or () if found else ():
        compileall.compile_dir(folder, quiet=1)
    code = "from penstock.kernels import loading; loading.load()"
    subprocess.run([sys.executable, "-c", code], check=True)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    names = [*(work.name for work in speed.WORKS), "words", *(each.name for each in memory.PIPELINES)]
    names += [each.name for each in tuned.WORKS] + [f"resume_{name}" for name in resume.WORKS]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="one round, Penstock and tf.data only, no cgroup"
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="speed, memory, tuned, resume, flat, or one of: " + ", ".join([*names, *flat.WORKS]),
    )
    parser.add_argument(
        "--output",
        type=Path,
        help="write here instead of RESULTS.md (which only a whole run replaces)",
    )
    options = parser.parse_args()
    known = {"speed", "memory", "tuned", "resume", "flat", *names, *flat.WORKS}
    for name in options.only:
        if name not in known:
            parser.error(f"nothing is called {name!r}; there are {', '.join(sorted(known))}")
    return options


def wanted(only: list[str], kind: str, name: str) -> bool:
    """Whether a work was asked for."""
    return not only or kind in only or name in only


def run_speed(work: Work, quick: bool) -> dict[Peer, Seen]:
    """Run every peer of a work, round after round, so that a slow moment hits all alike."""
    peers = [peer for peer in work.peers if installed(peer.system)]
    if quick:
        peers = [peer for peer in peers if peer.system in ("penstock", "tf.data")]
    results: dict[Peer, Seen] = {}
    for number in range(1 if quick else max(ROUNDS.values())):
        for peer in peers:
            before = results.get(peer)
            if number >= ROUNDS[peer.system] or (before is not None and settled(before)):
                continue
            progress(f"{work.name}, round {number + 1}: {peer.name}")
            seen = measure.child("speed", work.name, peer.name)
            if peer.system == "penstock" and before is None and (seen.first or 0) > SLOW_PASS:
                # The first of its kind on this machine: Numba has compiled what is there from now on.
                seen = measure.child("speed", work.name, peer.name)
            results[peer] = together(before, seen)
    if work.again and not quick:
        run_again(work, results)
    return results


def run_again(work: Work, results: dict[Peer, Seen]) -> None:
    """Run Penstock, as a user would write it, and the fastest form of some others by turns."""
    ran = {peer: seen for peer, seen in results.items() if seen.passes and not settled(seen)}
    own = [peer for peer in ran if peer.system == "penstock" and not peer.form]
    forms = [[peer for peer in ran if peer.system == system] for system in work.again]
    others = [min(each, key=lambda peer: min(ran[peer].passes)) for each in forms if each]
    for number in range(LAST_ROUNDS if own and others else 0):
        for peer in own + others:
            progress(f"{work.name}, last round {number + 1}: {peer.name}")
            seen = measure.child("speed", work.name, peer.name)
            results[peer].trouble = results[peer].trouble or seen.trouble
            results[peer].first = quicker(results[peer].first, seen.first)
            if seen.passes:
                results[peer].last.append(min(seen.passes))


def settled(seen: Seen) -> bool:
    """Whether another round would tell nothing that is worth its time."""
    return bool(seen.trouble) or (seen.first or 0) > SLOW_PASS


def together(before: Seen | None, now: Seen) -> Seen:
    """Join two runs of the same peer: all passes, the quicker first pass, the higher peak."""
    if before is None:
        return now
    return Seen(
        first=quicker(before.first, now.first),
        passes=before.passes + now.passes,
        peak=max(before.peak, now.peak),
        trouble=now.trouble,
    )


def quicker(one: float | None, other: float | None) -> float | None:
    """The smaller one of two times, where there are two."""
    return min((each for each in (one, other) if each is not None), default=None)


def run_memory(pipeline: Pipeline, quick: bool) -> tuple[Seen, Seen, Seen | None]:
    """Run a pipeline as Penstock, as tf.data, and as Penstock inside a cgroup."""
    progress(f"{pipeline.name}: penstock")
    penstock = measure.child("memory", pipeline.name, "penstock")
    progress(f"{pipeline.name}: tf.data")
    tf_data = Seen(trouble="not installed")
    if installed("tf.data"):
        tf_data = measure.child("memory", pipeline.name, "tf.data")
    progress(f"{pipeline.name}: penstock in a cgroup")
    return penstock, tf_data, None if quick else measure.inside_cgroup(pipeline)


def run_tuned(work: tuned.Tuned) -> tuned.Grid:
    """Run a pipeline with each setting of its grid; then the best one again, by turns with AUTOTUNE."""
    grid: dict[str, tuned.Rate] = {}
    for number in range(GRID_ROUNDS):
        for setting in work.settings():
            progress(f"{work.name}, round {number + 1}: {setting}")
            grid[setting] = better(grid.get(setting), measure.rate(work.name, setting))
    best = max(grid, key=lambda setting: grid[setting].late)
    last: dict[str, tuned.Rate] = {}
    for number in range(GRID_LAST_ROUNDS):
        for setting in (best, tuned.AUTOTUNE):
            progress(f"{work.name}, last round {number + 1}: {setting}")
            last[setting] = better(last.get(setting), measure.rate(work.name, setting))
    return tuned.Grid(grid, best, last[best], last[tuned.AUTOTUNE])


def better(before: tuned.Rate | None, now: tuned.Rate) -> tuned.Rate:
    """The better one of two runs."""
    keeps = before is not None and not before.trouble and (now.trouble or now.late <= before.late)
    return before if before is not None and keeps else now


def installed(library: str) -> bool:
    """Whether a library can be loaded at all."""
    return importlib.util.find_spec(MODULES[library][0]) is not None


def progress(text: str) -> None:
    """Say on a terminal what runs now."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
