"""`penstock doctor`: run a training script and say whether it leaks, who does it, and what to do."""

from __future__ import annotations

import argparse
import atexit
import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from penstock.cli.files import can_write
from penstock.errors import PenstockError

NAME = "doctor"
SUMMARY = "run a script: does it leak, which line, and what to do"
DESCRIPTION = """\
Run a training script unchanged, whatever framework it uses, and say whether
something in it grows without end: memory, Python objects, tensors, graphs,
functions that are traced again and again, open files, threads, processes.
A leak is told with the line that makes it grow, the chain of references that
keeps it, how fast it grows, when the memory will be full, and a remedy.
"""
EXAMPLES = """\
examples:
  penstock doctor train.py --epochs 3           the script with its own arguments
  penstock doctor --steps 500 train.py          stop after 500 steps
  penstock doctor --html report.html train.py   a page with the curves of what grew
  penstock doctor --json train.py > found.json  for programs; the script prints to stderr
  penstock doctor --explain torch-graph         what a kind of finding means, with examples

exit status: 0 no leak, 1 a leak, 2 could not tell, or the script failed
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("--steps", type=_steps, metavar="N", help="stop the script after N steps")
    parser.add_argument("--json", action="store_true", help="print JSON, with the keys of docs/doctor.md")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page with curves to FILE")
    parser.add_argument(
        "--explain",
        action=_Explain,
        metavar="KIND",
        help="print the page of a kind of finding, or of `all`, and stop",
    )
    parser.add_argument("script", metavar="SCRIPT", help="the Python script to run")
    parser.add_argument(
        "arguments", nargs=argparse.REMAINDER, metavar="...", help="the script's own arguments"
    )


class _Explain(argparse.Action):
    """Prints a page and ends, as `--help` does: no script is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, _: object, kind: object, *__: object) -> None:
        """Do it."""
        from penstock.doctor.explain import explain

        try:
            print(explain(str(kind)), end="")
        except PenstockError as error:
            parser.error(str(error))
        parser.exit()


def _steps(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 on, got {text!r}")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Do it; the exit status."""
    from penstock.doctor.page import page
    from penstock.doctor.script import examine
    from penstock.doctor.text import show

    if arguments.html is not None:
        can_write(arguments.html)  # before the script runs for hours
    with _stdout_for_json() if arguments.json else _plain():
        said = examine(arguments.script, arguments.arguments, arguments.steps)
    if arguments.html is not None:
        arguments.html.write_text(page(said, arguments.script), encoding="utf-8")
    if arguments.json:
        print(json.dumps({"penstock": version("penstock"), "script": arguments.script, **said.as_json()}))
    else:
        colours = sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        print("\n" + show(said, colours=colours), file=sys.stderr, flush=True)
    _leave(said.status)
    return said.status


def _leave(status: int) -> None:
    """End the process here, if the script has used TensorFlow.

    With iterators that are still open, it may wait for ever when Python takes itself apart.
    """
    others = [one for one in threading.enumerate() if not one.daemon and one is not threading.main_thread()]
    if "tensorflow" in sys.modules and not others:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


@contextmanager
def _plain() -> Iterator[None]:
    yield


@contextmanager
def _stdout_for_json() -> Iterator[None]:
    """What the script prints goes to stderr: stdout is for the JSON alone."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)
