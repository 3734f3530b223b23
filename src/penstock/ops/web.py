"""`ps.WebDataset`: the elements of tar archives in WebDataset's layout."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

from penstock.blocks.spec import BYTES, TEXT, Spec, TensorSpec
from penstock.blocks.structure import LEAF, Structure
from penstock.errors import ArgumentError
from penstock.graph.running import Context, Running
from penstock.io.formats.reader import Reader
from penstock.io.formats.web import KEY, Layout, WebReader
from penstock.ops.parts.files import FilesOp, RunningFiles


@dataclass(frozen=True, eq=False, kw_only=True)
class Web(FilesOp):
    """Members with the same key, one after another in an archive, each a dict of bytes by extension."""

    extensions: tuple[str, ...] | None = None
    missing: tuple[tuple[str, bytes], ...] = ()
    layout: Layout | None = field(default=None, repr=False, metadata={"fingerprint": False})
    """What the elements of one run have; made anew when it starts."""

    name = "WebDataset"
    first_decides = True

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in (*(self.extensions or ()), *dict(self.missing)):
            if name.startswith("."):
                raise ArgumentError(
                    self.fail(f"expected extensions without the dot before them, got {name!r}: {name[1:]!r}.")
                )
        if self.num_parallel_reads is not None and self.extensions is None:
            raise ArgumentError(
                self.fail(
                    "expected the extensions too, where files are read in turn: the first element of one "
                    "file does not tell what those of the others have. Give extensions=[...]."
                )
            )

    def start(self, context: Context) -> Running:
        running = copy.copy(self)
        object.__setattr__(running, "layout", Layout(self.extensions, dict(self.missing)))
        return RunningFiles(running, context)

    def open(self, path: str, context: Context) -> Reader:
        assert self.layout is not None
        return WebReader(path, context, self.layout)

    def find_spec(self) -> Spec | None:
        if self.extensions is None:
            return None  # the files know, and declaring a dataset opens none
        names = (KEY, *self.extensions)
        leaves = [TensorSpec((), TEXT if name == KEY else BYTES) for name in names]
        return Spec(Structure(dict, names, (LEAF,) * len(names)), leaves)
