"""The command `penstock`: finds the command that is asked for, and turns errors into text and a status."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version

from penstock.cli import doctor, inspect, lint
from penstock.errors import PenstockError

COMMANDS = (inspect, doctor, lint)
INTERRUPTED = 130
"""What shells expect of a command that Ctrl+C has ended."""
EXAMPLES = """\
examples:
  penstock inspect train.tfrecord      what is in a file: records, features, samples, damage
  penstock inspect data/ --json        the same of a folder, for programs
  penstock doctor train.py             does this script leak memory, and which line does it
  penstock lint .                      what will go wrong in code, before it runs
  penstock doctor --help               all that a command takes
"""


def parser() -> argparse.ArgumentParser:
    """What the command line takes."""
    made = argparse.ArgumentParser(
        prog="penstock",
        description="Input pipelines for training loops: look at data, find leaks, check code.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--version", action="version", version=f"penstock {version('penstock')}")
    commands = made.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        one = commands.add_parser(
            command.NAME,
            help=command.SUMMARY,
            description=command.DESCRIPTION,
            epilog=command.EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_arguments(one)
        one.set_defaults(run=command.run)
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.txt").write_text("one line" + chr(10))
    ...     main(["inspect", folder, "--samples", "0"])  # doctest: +ELLIPSIS
    /...: text
      1 line, 9 B, 8 B each
    <BLANKLINE>
      no damage found
    0
    """
    given = sys.argv[1:] if arguments is None else arguments
    if not given:
        parser().print_help(sys.stderr)
        return 2
    asked = parser().parse_args(given)
    try:
        status: int = asked.run(asked)
        sys.stdout.flush()
        return status
    except PenstockError as error:
        print(f"penstock: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has enough, as `head` does; nothing may be written when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
