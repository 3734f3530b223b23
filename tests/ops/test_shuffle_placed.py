"""A shuffle of rows that are still where they were read to: they are taken in for several pulls at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.ops.shuffle import AT_ONCE, RunningShuffle

ROWS, SLOTS, WIDTH = 90, 11, 2000
FEATURES = {"raw": ps.io.FixedLenFeature([], "string"), "i": ps.io.FixedLenFeature([], "int64")}
WANTED = [int(number) for number in ps.Dataset.range(ROWS).shuffle(SLOTS, seed=4)]
BAD = 40


def written(folder: Path, *, damaged: int | None = None) -> str:
    path = folder / "rows.tfrecord"
    with ps.io.TFRecordWriter(str(path)) as writer:
        for i in range(ROWS):
            writer.write(ps.io.serialize_example({"raw": bytes([i]) * WIDTH, "i": i}))
    if damaged is not None:
        data = bytearray(path.read_bytes())
        data[data.index(bytes([damaged]) * WIDTH) + 7] ^= 1
        path.write_bytes(data)
    return str(path)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(tmp_path_factory.mktemp("placed"))


def decoded(record: Any) -> Any:
    parsed = ps.io.parse_single_example(record, FEATURES)
    return ps.io.decode_raw(parsed["raw"], np.uint8), parsed["i"]


def shuffled(path: str, **how: Any) -> ps.Dataset:
    return ps.TFRecordDataset(path).map(decoded).shuffle(SLOTS, seed=4).with_options(ps.Options(**how))


def numbers(elements: Iterator[Any]) -> Iterator[int]:
    """The numbers of the rows; each is held to what was written."""
    for raw, number in elements:
        np.testing.assert_array_equal(raw, np.full(WIDTH, number, np.uint8))
        yield int(number)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows every shuffle asks its input for."""
    found = []
    pull = RunningShuffle._pull

    def watched(self: RunningShuffle, rows: int) -> Any:
        found.append(rows)
        return pull(self, rows)

    monkeypatch.setattr(RunningShuffle, "_pull", watched)
    return found


def test_given_placed_rows_when_so_many_are_needed_again_then_several_times_as_many_are_asked_for(
    path: str, asked: list[int]
) -> None:
    with shuffled(path).iterate() as it:
        next(it)
    # 11 slots are filled with 1, 2, 4 and 4 rows, and the first to come out needs one more.
    assert asked == [1, 2, 4, 4 * AT_ONCE]


def test_given_batches_then_what_completes_one_is_not_asked_for_with_more(
    path: str, asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = [0]
    following = RunningShuffle._next

    def watched(self: RunningShuffle, rows: int) -> Any:
        needed.append(rows)
        before = len(asked)
        block = following(self, rows)
        if rows != needed[-2]:
            assert set(asked[before:]) <= {rows}
        return block

    monkeypatch.setattr(RunningShuffle, "_next", watched)
    batches = list(shuffled(path).batch(8))
    assert list(numbers(row for batch in batches for row in zip(*batch, strict=True))) == WANTED
    assert len(set(needed)) > 2


@pytest.mark.parametrize("most", [2, 5])
def test_given_blocks_of_few_rows_then_no_more_than_a_block_is_asked_for(
    path: str, asked: list[int], most: int
) -> None:
    assert list(numbers(iter(shuffled(path, block_rows=most)))) == WANTED
    assert max(asked) == most


def test_given_rows_that_are_not_placed_then_no_more_is_asked_for_than_is_needed(asked: list[int]) -> None:
    ds = ps.Dataset.range(ROWS).map(lambda i: np.full(WIDTH, i)).shuffle(SLOTS)
    with ds.iterate() as it:
        next(it)
    assert sum(asked) == SLOTS + 1


@pytest.mark.parametrize("size", [1, 5])
def test_given_a_state_at_any_element_then_the_rest_follows(path: str, size: int) -> None:
    ds = shuffled(path).batch(size)
    for taken in range(0, ROWS // size, 7):
        with ds.iterate(epoch=0) as it:
            for _ in range(taken):
                next(it)
            state = it.state()
        with ds.iterate(state=state) as it:
            rest = [int(number) for _, some in it for number in some]
        assert rest == WANTED[taken * size :]


def test_given_a_damaged_record_then_it_is_raised_once_and_all_others_come(tmp_path: Path) -> None:
    ds = shuffled(written(tmp_path, damaged=BAD))
    got: list[int] = []
    errors = []
    with ds.iterate() as it:
        while True:
            try:
                got.extend(numbers(iter([next(it)])))
            except StopIteration:
                break
            except ps.errors.DataError as error:
                errors.append(len(got))
                assert error.file is not None
                assert error.offset is not None
    assert errors == [WANTED.index(BAD)]
    assert got == [number for number in WANTED if number != BAD]
