"""Runs a user's script unchanged, as `python script.py args` would, and watches it."""

from __future__ import annotations

import runpy
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from penstock.doctor.diagnose import diagnose
from penstock.doctor.findings import LEAK, UNCLEAR, Diagnosis
from penstock.doctor.watching import StopEarly, Watching
from penstock.doctor.workers import Workers
from penstock.errors import PenstockError

INTERRUPTED = 130


def examine(script: str, arguments: Sequence[str] = (), steps: int | None = None) -> Diagnosis:
    """Run a script to its end, or for a number of steps, and say what was seen."""
    path = Path(script)
    if not path.is_file():
        why = "that is a folder" if path.is_dir() else "there is no such file"
        raise PenstockError(f"Expected a Python script, got {script!r}: {why}.")
    watching = Watching(script=script, steps=steps)
    workers = Workers(watching)
    argv, first = sys.argv, sys.path[0]
    sys.argv = [script, *arguments]
    sys.path[0] = str(path.resolve().parent)
    watching.start()
    try:
        status = _run(script)
    finally:
        watching.stop()
        sys.argv, sys.path[0] = argv, first
    said = diagnose(watching)
    workers.end(said)
    said.script_status = status
    if status not in (0, INTERRUPTED) and said.status != LEAK:
        said.reason = f"the script failed with status {status}" + (f"; {said.reason}" if said.reason else "")
        said.status = UNCLEAR
    return said


def _run(script: str) -> int:
    try:
        runpy.run_path(script, run_name="__main__")
    except StopEarly:
        return 0
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    except BaseException as error:
        _show(error)
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def _show(error: BaseException) -> None:
    """The traceback as Python would show it: without the frames that ran the script."""
    at = error.__traceback__
    while at is not None and (
        "runpy" in at.tb_frame.f_code.co_filename or at.tb_frame.f_code.co_filename == __file__
    ):
        at = at.tb_next
    traceback.print_exception(error.with_traceback(at or error.__traceback__))
