"""`penstock inspect`: what is in a file or folder."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from importlib.metadata import version

from penstock.cli.inspecting.groups import inspect_paths
from penstock.cli.inspecting.looking import Looking, Progress
from penstock.cli.inspecting.show import Style, show_finding

NAME = "inspect"
SUMMARY = "say what is in files: records, features, samples, damage"
DESCRIPTION = """\
Say what is in files and folders: how many records, the features or columns with
their types, shapes and ranges, a few samples, and every damage with the file and
the byte where it is. Files of one kind are told of together.

Formats, recognised by content and then by name: TFRecord (plain, GZIP, ZLIB or
Zstandard) with tf.train.Example or SequenceExample, Parquet, Arrow, NumPy (.npy,
.npz), CSV, JSON lines, text, tar (WebDataset), folders of pictures, and what
Dataset.write_tfrecord and Dataset.save write. A path may be an address, such as
s3://bucket/train-0.tfrecord.
"""
EXAMPLES = """\
examples:
  penstock inspect train.tfrecord               everything about one file
  penstock inspect data/                        a folder, files of one kind together
  penstock inspect train-*.tfrecord --samples 0 many files, no samples
  penstock inspect big.parquet --records 1000   the first 1,000 rows of each file only
  penstock inspect train.tfrecord --json        for programs

exit status: 0 if all is well, 1 if damage was found, 2 if something could not be read at all
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a file, a folder, a pattern or an address")
    parser.add_argument(
        "--records", type=_count(1), metavar="N", help="look at the first N records of each file only"
    )
    parser.add_argument(
        "--samples", type=_count(0), default=3, metavar="N", help="show so many records (default: 3)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, with the keys of docs/inspect.md")


def _count(least: int) -> Callable[[str], int]:
    def count(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise argparse.ArgumentTypeError(f"expected a whole number from {least} on, got {text!r}")
        return value

    return count


def run(arguments: argparse.Namespace) -> int:
    """Do it; the exit status."""
    progress = Progress()
    looking = Looking(arguments.records, arguments.samples, progress)
    colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    style, status, said = Style(colours=colours), 0, []
    try:
        for number, found in enumerate(inspect_paths(arguments.paths, looking)):
            progress.end()
            status = max(status, found.status)
            if arguments.json:
                said.append(found.as_json())
            else:
                print(("\n" if number else "") + show_finding(found, style), flush=True)
    finally:
        progress.end()
    if arguments.json:
        print(json.dumps({"penstock": version("penstock"), "status": status, "found": said}, indent=1))
    return status
