"""`penstock lint`: what will go wrong in a training loop, said before it runs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from penstock.cli.files import can_write

NAME = "lint"
SUMMARY = "say what will go wrong in training code, before it runs"
DESCRIPTION = """\
Read Python files and notebooks that use Penstock, tf.data, Keras, PyTorch or JAX,
and say where memory will grow, data will be wrong or time is wasted: a dataset built
in a loop, a cache behind random augmentation, losses kept with their graphs, functions
that are traced again at every step. Nothing is run or imported.

Each rule has a code and a page: --explain PSK006. A line is kept with `# noqa: PSK006`.
Settings are in [tool.penstock.lint] of pyproject.toml: select, ignore, exclude,
per-file-ignores.
"""
EXAMPLES = """\
examples:
  penstock lint .                               the whole project
  penstock lint train.py --select PSK2          rules about PyTorch only
  penstock lint src --ignore PSK010             all but one rule
  penstock lint --explain PSK003                what a rule means, with examples
  penstock lint . --format github               beside the lines of a pull request

exit status: 0 if there is nothing to say, 1 if there are findings, 2 if something could not be looked at
"""
TAKEN = ("", ".py", ".pyi", ".pyw", ".ipynb")
"""What the names of files may end in that are named: many a script has no ending."""
NO_PYTHON = "expected Python (.py) or a notebook (.ipynb)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="a file, a notebook or a folder (default: .)"
    )
    parser.add_argument("--select", type=_codes, metavar="CODES", help="only these rules: PSK001,PSK2")
    parser.add_argument("--ignore", type=_codes, metavar="CODES", help="not these rules")
    parser.add_argument(
        "--exclude", type=_codes, metavar="PATTERNS", help="not these files and folders: tests/*,*.ipynb"
    )
    parser.add_argument(
        "--format", choices=("text", "json", "github", "sarif"), default="text", help="how to print"
    )
    parser.add_argument("--output", metavar="FILE", help="write to a file instead")
    parser.add_argument("--explain", metavar="CODE", help="print the page of a rule, or of `all`, and stop")


def _codes(text: str) -> list[str]:
    found = [one.strip() for one in text.split(",") if one.strip()]
    if not found:
        raise argparse.ArgumentTypeError("expected codes with commas between them, got nothing")
    return found


def run(arguments: argparse.Namespace) -> int:
    """Do it; the exit status."""
    # Loaded here: other commands have no need of the rules.
    from penstock.doctor.lint.config import load
    from penstock.doctor.lint.finding import Problem
    from penstock.doctor.lint.formats import FORMATS
    from penstock.doctor.lint.run import lint_paths

    if arguments.explain:
        return _explain(arguments.explain)
    paths = arguments.paths or ["."]
    first = Path(paths[0])
    config = load(first if first.is_dir() else first.parent)
    config = config.over(arguments.select, arguments.ignore, arguments.exclude)
    config.codes("")  # what does not exist is said before anything is read
    if arguments.output:
        can_write(Path(arguments.output))
    shown = sys.stderr.isatty()
    others = [path for path in paths if Path(path).is_file() and Path(path).suffix not in TAKEN]
    outcome = lint_paths([path for path in paths if path not in others], config, _progress if shown else None)
    outcome.problems += [Problem(path, None, NO_PYTHON) for path in others]
    if shown:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    if not outcome.files and not outcome.problems:
        print(f"penstock lint: no Python files or notebooks in {', '.join(paths)}", file=sys.stderr)
    told = FORMATS[arguments.format](outcome)
    if arguments.output:
        Path(arguments.output).write_text(told + "\n", encoding="utf-8")
    elif told:
        print(told)
    return outcome.status


def _progress(number: int, path: str) -> None:
    if number % 20 == 0:
        print(f"\r\033[K{number} files, {path[-80:]}", end="", file=sys.stderr, flush=True)


def _explain(code: str) -> int:
    from penstock.doctor.lint.config import expand
    from penstock.doctor.lint.explain import page
    from penstock.doctor.lint.rules import rules

    print("\n".join(page(rules()[one]) for one in sorted(expand([code]))), end="")
    return 0
