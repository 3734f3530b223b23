"""What the sources over files with columns have in common: which columns, and what stands for nulls."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from penstock.blocks.spec import Spec
from penstock.graph.running import Context, Running
from penstock.io.formats.tables import Agreement
from penstock.ops.parts.files import FilesOp, RunningFiles


@dataclass(frozen=True, eq=False, kw_only=True)
class TablesOp(FilesOp):
    """The rows of files with columns, each a dict; all files have the same columns."""

    columns: tuple[str, ...] | None = None
    fill_nulls: tuple[tuple[str, Any], ...] = ()
    agreement: Agreement | None = field(default=None, repr=False, metadata={"fingerprint": False})
    """What the files of one run have agreed on; made anew when it starts."""

    first_decides = True

    def start(self, context: Context) -> Running:
        running = copy.copy(self)
        object.__setattr__(running, "agreement", Agreement())
        return RunningFiles(running, context)

    def find_spec(self) -> Spec | None:
        return None  # the files know, and declaring a dataset opens none
