"""`shard(by=, remainder=)`: where a dataset is shared out, and equal parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from contract.op_contract import OpContract
from contract.streams import FAILED, events, failing


def yes(x: Any) -> bool:
    return True


def parts(ds: ps.Dataset, shards: int, **said: Any) -> list[list[Any]]:
    return [events(ds.shard(shards, index, **said)) for index in range(shards)]


def expected(count: int, shards: int, remainder: str) -> list[list[int]]:
    """The parts of `range(count)`, written down a round at a time."""
    rounds = [list(range(at, min(at + shards, count))) for at in range(0, count, shards)]
    if rounds and len(rounds[-1]) < shards:
        last = rounds.pop()
        if remainder == "pad":
            rounds.append(last + [last[0]] * (shards - len(last)))
        elif remainder == "keep":
            return [[one[i] for one in [*rounds, last] if i < len(one)] for i in range(shards)]
    return [[one[i] for one in rounds] for i in range(shards)]


class TestEvenShard(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        rows = {"a": np.arange(40).reshape(20, 2), "b": [b"x", b"yy"] * 10}
        return {
            "drop of arrays": lambda: ps.Dataset.from_tensor_slices(rows).shard(3, 1, remainder="drop"),
            "pad of arrays": lambda: ps.Dataset.from_tensor_slices(rows).shard(3, 2, remainder="pad"),
            "drop of a stream": lambda: ps.Dataset.range(100).filter(yes).shard(7, 0, remainder="drop"),
            "pad of a stream": lambda: ps.Dataset.range(100).filter(yes).shard(7, 6, remainder="pad"),
            "drop of a few": lambda: ps.Dataset.range(3).filter(yes).shard(7, 0, remainder="drop"),
            "pad of a few": lambda: ps.Dataset.range(3).filter(yes).shard(7, 5, remainder="pad"),
        }

    @settings(max_examples=60, deadline=None)
    @given(
        count=st.integers(0, 30),
        shards=st.integers(1, 8),
        rows=st.integers(1, 9),
        remainder=st.sampled_from(["keep", "drop", "pad"]),
    )
    def test_given_any_length_then_streams_and_arrays_are_shared_out_by_rounds(
        self, count: int, shards: int, rows: int, remainder: str
    ) -> None:
        for ds in (ps.Dataset.range(count), ps.Dataset.range(count).filter(yes)):
            whole = [ds.shard(shards, index, remainder=remainder) for index in range(shards)]
            got = [events(one, block_rows=rows) for one in whole]
            assert got == expected(count, shards, remainder)
            for one, part in zip(whole, got, strict=True):
                assert one.cardinality() in (ps.UNKNOWN, len(part))

    def test_given_a_failing_element_then_it_counts_in_its_round(self) -> None:
        # Of 0 to 6, 2 fails: the rounds are 0 1 x, 3 4 5 and 6. What may be dropped waits for its round.
        assert parts(failing(7, 2), 3, remainder="drop") == [[FAILED, 0, 3], [FAILED, 1, 4], [FAILED, 5]]
        assert parts(failing(7, 2), 3, remainder="pad") == [
            [0, FAILED, 3, 6],
            [1, FAILED, 4, 6],
            [FAILED, 5, 6],
        ]

    def test_given_a_shuffle_of_a_shard_of_arrays_then_no_rows_are_kept(self) -> None:
        ds = ps.Dataset.from_tensor_slices(np.arange(20)).shard(3, 1).shuffle(20, seed=1)
        assert "keeps no rows" in str(ds.explain())
        assert sorted(events(ds)) == [1, 4, 7, 10, 13, 16, 19]


class TestWhere:
    @pytest.fixture
    def files(self, tmp_path: Path) -> list[str]:
        paths = []
        for number in range(5):
            paths.append(str(tmp_path / f"{number}.txt"))
            Path(paths[-1]).write_text("".join(f"{number}{row}\n" for row in range(3)))
        return paths

    @staticmethod
    def once(got: list[list[Any]], files: list[str]) -> None:
        """Every line came in one part, and no part had a file of another."""
        lines = [f"{number}{row}".encode() for number in range(len(files)) for row in range(3)]
        assert sorted(line for part in got for line in part) == lines
        of_part = [{line[:1] for line in part} for part in got]
        assert sum(map(len, of_part)) == len(files)

    @pytest.mark.parametrize("by", ["file", "auto"])
    @pytest.mark.parametrize("way", ["names", "in turn", "listed", "interleaved", "named by a dataset"])
    def test_given_files_then_each_is_read_by_one_shard(self, files: list[str], by: str, way: str) -> None:
        pattern = str(Path(files[0]).parent / "*.txt")
        ds = {
            "names": lambda: ps.TextLineDataset(files),
            "in turn": lambda: ps.TextLineDataset(files, num_parallel_reads=2),
            "listed": lambda: ps.TextLineDataset(ps.Dataset.list_files(pattern)),
            "interleaved": lambda: ps.Dataset.list_files(pattern).interleave(ps.TextLineDataset),
            "named by a dataset": lambda: ps.Dataset.from_tensor_slices(files).flat_map(ps.TextLineDataset),
        }[way]()
        self.once(parts(ds.shuffle(4).filter(yes).prefetch(1), 2, by=by), files)

    def test_given_fewer_files_than_shards_then_auto_shares_out_their_elements(
        self, files: list[str]
    ) -> None:
        got = parts(ps.TextLineDataset(files[:2]).map(lambda line: line), 4, by="auto")
        assert sorted(line for part in got for line in part) == [b"00", b"01", b"02", b"10", b"11", b"12"]
        assert all(got)

    def test_given_fewer_files_than_shards_then_by_file_is_refused_with_the_line(
        self, files: list[str]
    ) -> None:
        with pytest.raises(ps.errors.ArgumentError, match=r"sharding\.py:\d+: expected at least 6 files"):
            ps.TextLineDataset(files).shard(6, 0, by="file")
        listed = ps.Dataset.list_files(files).flat_map(ps.TextLineDataset)
        with pytest.raises(ps.errors.StoreError, match="expected at least 6 files"):
            events(listed.shard(6, 0, by="file"))

    def test_given_auto_then_elements_of_others_are_not_made(self) -> None:
        made: list[int] = []

        def costly(x: Any) -> Any:
            made.append(int(x))
            return x

        ds = ps.Dataset.range(20).map(costly).batch(2)
        assert parts(ds, 2, by="auto")[1] == [[1, 3], [5, 7], [9, 11], [13, 15], [17, 19]]
        assert sorted(set(made[-10:])) == [*range(1, 20, 2)]

    def test_given_an_op_that_needs_all_elements_then_auto_shares_out_right_after_it(self) -> None:
        ds = ps.Dataset.range(100).take(7).map(lambda x: x * 10)
        assert parts(ds, 2, by="auto") == [[0, 20, 40, 60], [10, 30, 50]]
        twice = ps.Dataset.range(12).shard(2, 1)
        assert parts(twice.map(lambda x: x), 2, by="auto") == [[1, 5, 9], [3, 7, 11]]

    def test_given_an_op_that_needs_all_elements_then_by_file_names_it(self, files: list[str]) -> None:
        with pytest.raises(ps.errors.ArgumentError, match=r"take at .* needs to see the elements of all"):
            ps.TextLineDataset(files).take(3).shard(2, 0, by="file")
        with pytest.raises(ps.errors.ArgumentError, match=r"expected a source of files, got range"):
            ps.Dataset.range(3).shard(2, 0, by="file")

    def test_given_equal_steps_then_auto_counts_after_a_filter_and_files_are_refused(
        self, files: list[str]
    ) -> None:
        ds = ps.Dataset.range(20).filter(lambda x: x % 3 == 0).batch(2)  # 0 3 6 9 12 15 18
        assert [len(part) for part in parts(ds, 2, by="auto", remainder="drop")] == [2, 2]
        assert [len(part) for part in parts(ds, 2, by="auto", remainder="pad")] == [2, 2]
        with pytest.raises(ps.errors.ArgumentError, match="equal steps"):
            ps.TextLineDataset(files).shard(2, 0, by="file", remainder="pad")

    def test_given_a_cache_then_every_shard_has_its_own(self) -> None:
        ds = ps.Dataset.range(10).cache()
        assert events(ds) == [*range(10)]
        first = ds.shard(2, 0, by="auto")
        assert events(first) == events(first) == [0, 2, 4, 6, 8]

    @pytest.mark.parametrize("said", [{"by": "row"}, {"remainder": "cut"}])
    def test_given_a_wrong_word_then_declaring_fails_with_the_line(self, said: dict[str, str]) -> None:
        with pytest.raises(ps.errors.ArgumentError, match=r"test_sharding\.py:\d+: expected '"):
            ps.Dataset.range(3).shard(2, 0, **said)
