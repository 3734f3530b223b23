"""Which function looks at which format; each is loaded when it is needed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from penstock.cli.inspecting.findings import Finding
from penstock.cli.inspecting.looking import Looking
from penstock.cli.inspecting.recognise import Kind

Inspector = Callable[[str, Kind, Looking], Finding]


def _in(module: str) -> Inspector:
    def inspect(path: str, kind: Kind, looking: Looking) -> Finding:
        found: Finding = import_module(f"penstock.cli.inspecting.{module}").inspect(path, kind, looking)
        return found

    return inspect


INSPECTORS: dict[str, Inspector] = {}
