"""Ten thousand iterations of one data set, and a thousand data sets declared, run and dropped.

Resident memory, threads and descriptors are read from outside at several points: they must not
grow. Every run here shuffles, batches and prefetches, so each starts a thread and holds buffers.
"""

from collections.abc import Callable
from typing import Any

from benchmarks.conversation import Conversation

WORKS = {
    "iterations": "10,000 iterations of one data set",
    "datasets": "1,000 data sets declared, run and dropped",
}
COUNTS = {"iterations": 10_000, "datasets": 1_000}
ROWS = 256


def run(name: str, parent: Conversation) -> None:
    """Run one of the works, and ask the parent to look now and then."""
    import penstock  # noqa: F401 - loaded before the first look

    one_round = _same_dataset() if name == "iterations" else _new_dataset
    count = COUNTS[name]
    looks = {0, count // 100, count // 10, count // 4, count // 2, count}
    parent.ask("point", count=0)
    for number in range(1, count + 1):
        one_round()
        if number in looks:
            parent.ask("point", count=number)


def _declared() -> Any:
    import penstock as ps

    numbers = ps.Dataset.range(ROWS).map(lambda x: x * 2)
    return numbers.shuffle(64).batch(16).prefetch(2)


def _consume(dataset: Any) -> None:
    total = sum(int(batch.sum()) for batch in dataset)
    if total != ROWS * (ROWS - 1):
        raise ValueError(f"Expected the elements to add up to {ROWS * (ROWS - 1)}, got {total}.")


def _same_dataset() -> Callable[[], None]:
    dataset = _declared()
    return lambda: _consume(dataset)


def _new_dataset() -> None:
    _consume(_declared())
