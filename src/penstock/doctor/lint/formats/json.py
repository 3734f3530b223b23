"""Findings for programs."""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib.metadata import version

from penstock.doctor.lint.run import Outcome


def as_json(outcome: Outcome) -> str:
    """One object with `penstock` (the version), `status`, `files`, `findings` and `problems`.

    >>> json.loads(as_json(Outcome(files=3)))["files"]
    3
    """
    told = {
        "penstock": version("penstock"),
        "status": outcome.status,
        "files": outcome.files,
        "findings": [asdict(one) for one in outcome.findings],
        "problems": [asdict(one) for one in outcome.problems],
    }
    return json.dumps(told, indent=1)
