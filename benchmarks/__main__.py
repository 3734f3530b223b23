"""`python -m benchmarks`: run the works, print the tables and write RESULTS.md."""

import argparse
import compileall
import importlib.util
import subprocess
import sys
from pathlib import Path

from benchmarks import charts, flat, machine, measure, memory, report, resume, speed, tuned, words
from benchmarks.rounds import progress, run_memory, run_speed, run_tuned


def main() -> int:
    """Run what was asked for; the exit status says whether everything ran."""
    options = arguments()
    compile_kernels()
    bystanders = machine.Bystanders()
    results = report.Results(machine.describe())
    for work in (each for each in speed.WORKS if wanted(options.only, "speed", each.name)):
        results.speed[work] = run_speed(work, quick=options.quick)
    if wanted(options.only, "speed", "words"):
        progress("words")
        results.words = words.measured()
    for pipeline in memory.PIPELINES:
        if wanted(options.only, "memory", pipeline.name):
            results.memory[pipeline] = run_memory(pipeline, quick=options.quick)
    for each in tuned.WORKS:
        if wanted(options.only, "tuned", each.name):
            results.tuned[each] = run_tuned(each, quick=options.quick)
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


if __name__ == "__main__":
    sys.exit(main())
