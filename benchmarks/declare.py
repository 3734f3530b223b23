"""What a speed work and a peer's way of writing it are: frozen declarations, no behaviour."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

MODULES: dict[str, tuple[str, ...]] = {
    "penstock": ("penstock",),
    "tf.data": ("tensorflow",),
    "torch": ("torch", "torch.utils.data"),
    "grain": ("grain", "grain.experimental"),
    "no library": ("os",),
}
"""What each library loads before the child calls itself idle."""


@dataclass(frozen=True)
class Peer:
    """One library's way of writing one work.

    `form` is `naive` (element by element, as the library's tutorial writes it), `best` (the same
    operations in the order and with the options that the library's performance guide asks for)
    or `expert` (still the library's own operations and the same stream, but restructured by
    somebody who knows what it costs: two levels of batching, shuffled indices and a gather).
    """

    system: str
    form: str
    build: Callable[[Any], Iterable[Any]]
    note: str = ""

    @property
    def name(self) -> str:
        """The name in tables, and what the child is asked for."""
        return " ".join(word for word in (self.system, self.form, self.note) if word)


@dataclass(frozen=True)
class Expected:
    """A sum over the whole stream, and how far off (relatively) it may be."""

    value: float
    within: float = 0.0


@dataclass(frozen=True)
class Work:
    """One stream, written by every peer, and the proof that each delivered it whole.

    `tally` turns one delivered item into sums (the first one its number of elements); the check
    pass adds them up and compares them with `expected(inputs)`. Timed passes count items only.
    `repeat` says how many times as many rounds as others it gets: Python code of the same kind differs
    by a tenth from process to process.
    """

    name: str
    title: str
    items: int
    inputs: Callable[[], Any]
    tally: Callable[[Any], tuple[float, ...]]
    expected: Callable[[Any], tuple[Expected, ...]]
    peers: tuple[Peer, ...]
    goal: float | None = None
    against: str = ""
    repeat: int = 1
