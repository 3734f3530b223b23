"""Writing 400,000 three-scalar Examples to one TFRecord file."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.declare import Expected, Peer, Work
from benchmarks.speed import records


class Writing:
    """A stream of one item: how many records, and bytes, one pass has written."""

    def __init__(self, write: Callable[[Path], None]) -> None:
        self._write = write

    def __iter__(self) -> Iterator[tuple[int, int]]:
        with tempfile.TemporaryDirectory() as folder:
            self._write(Path(folder))
            yield records.EXAMPLES, sum(path.stat().st_size for path in Path(folder).glob("*.tfrecord"))


def tally(item: tuple[int, int]) -> tuple[float, ...]:
    """The records, and the bytes."""
    return float(item[0]), float(item[1])


def inputs() -> dict[str, Any]:
    """The columns that are written."""
    return records.scalars(0, records.EXAMPLES)


def expected(_: dict[str, Any]) -> tuple[Expected, ...]:
    """As many bytes as TensorFlow's files have, to within a length that needs one byte more."""
    size = sum(Path(path).stat().st_size for path in records.files("examples"))
    return Expected(records.EXAMPLES), Expected(size, 0.01)


def penstock(columns: dict[str, Any]) -> Any:
    """Write it as a user would."""
    import penstock as ps

    rows = ps.Dataset.from_tensor_slices(columns)

    def write(folder: Path) -> None:
        rows.write_tfrecord(folder, shards=1)

    return Writing(write)


def tf_writing(_: dict[str, Any]) -> Any:
    """Write it with a `tf.train.Example` a record, as TensorFlow's guide does."""

    def write(folder: Path) -> None:
        records.write_scalars(folder / "examples.tfrecord", 0, records.EXAMPLES)

    return Writing(write)


WORK = Work(
    name="writing",
    title="writing 400,000 three-scalar Examples",
    items=1,
    inputs=inputs,
    tally=tally,
    expected=expected,
    goal=10,
    peers=(
        Peer("penstock", "", penstock),
        Peer("tf.data", "best", tf_writing, "(TFRecordWriter, tf.train.Example)"),
    ),
)
