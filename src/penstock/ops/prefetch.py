"""`prefetch`: elements made ready ahead of their use, by a thread that the engine puts here."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.blocks.spec import Spec
from penstock.errors import ArgumentError
from penstock.graph import checks
from penstock.graph.op import AUTOTUNE, Op, Traits
from penstock.graph.running import Context, Running
from penstock.options import parse_bytes


@dataclass(frozen=True, eq=False, kw_only=True)
class Prefetch(Op):
    """Keeps up to `buffer_size` elements, or bytes, ready."""

    buffer_size: int | str

    name = "prefetch"
    parted = "evenly"
    traits = Traits(seam="prefetch")
    tuning = frozenset({"buffer_size"})

    def __post_init__(self) -> None:
        if isinstance(self.buffer_size, str):
            if self.buffer_size.strip().upper() in ("AUTO", "AUTOTUNE"):
                message = f"expected ps.AUTOTUNE itself, got the text {self.buffer_size!r}."
                raise ArgumentError(f"prefetch(buffer_size=) at {self.site}: {message}")
            parse_bytes(self.buffer_size, f"prefetch(buffer_size=) at {self.site}")
        else:
            checks.count(self.buffer_size, "prefetch(buffer_size=)", least=0, also={AUTOTUNE: "ps.AUTOTUNE"})

    @property
    def rows(self) -> int | None:
        """The most elements to keep ready; None where bytes, or nothing, were said."""
        size = self.buffer_size
        # tf.data takes 0 as "choose for me", as it does AUTOTUNE.
        return None if isinstance(size, str) or size in (0, AUTOTUNE) else size

    @property
    def bytes(self) -> int | None:
        """The most bytes to keep ready; None where elements, or nothing, were said."""
        return parse_bytes(self.buffer_size) if isinstance(self.buffer_size, str) else None

    def start(self, context: Context) -> Running:  # noqa: ARG002
        raise AssertionError("the engine puts a seam here")

    def find_spec(self) -> Spec | None:
        return self.inputs[0].spec

    def find_cardinality(self) -> int:
        return self.inputs[0].cardinality
