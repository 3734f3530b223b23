"""`on_error`."""

from __future__ import annotations

import atexit
import errno
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from contract.op_contract import OpContract
from contract.streams import FAILED, events, failing

FOLDER = Path(tempfile.mkdtemp())
atexit.register(shutil.rmtree, FOLDER)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


class TestOnError(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        return {
            "skip": lambda: failing(20, 0, 3, 4, 19).on_error("skip"),
            "quarantine": lambda: failing(20, 0, 3, 4, 19).on_error("quarantine", FOLDER / "bad.jsonl"),
            "none fails": lambda: ps.Dataset.range(5).on_error("skip", limit=0),
            "all fail": lambda: failing(3, 0, 1, 2).on_error("skip"),
        }

    def test_given_skip_then_the_others_come_and_the_report_counts(self) -> None:
        with failing(6, 0, 2, 3).on_error("skip").iterate() as it:
            assert [int(x) for x in it] == [1, 4, 5]
            assert "left out 3 elements that failed" in str(it.report())

    def test_given_raise_then_it_is_as_without(self) -> None:
        ds = failing(4, 1)
        assert ds.on_error("raise") is ds
        assert events(ds.on_error("raise")) == [0, FAILED, 2, 3]

    def test_given_quarantine_then_every_failure_is_written_with_its_place(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_text("1\ntwo\n3\nfour\n")
        bad = tmp_path / "bad.jsonl"
        ds = ps.CsvDataset(tmp_path / "a.csv", [int]).on_error("quarantine", bad)
        assert [int(x) for (x,) in ds] == [1, 3]
        assert [(one["op"], one["number"], one["offset"]) for one in lines(bad)] == [
            ("CsvDataset", 1, 2),
            ("CsvDataset", 3, 8),
        ]
        assert {one["file"] for one in lines(bad)} == {str(tmp_path / "a.csv")}
        assert {one["error"] for one in lines(bad)} == {"DataError"}
        assert "expected int64 in column 0, got b'two'" in lines(bad)[0]["message"]

    def test_given_a_function_that_fails_then_its_error_is_the_cause_and_passes_add_up(
        self, tmp_path: Path
    ) -> None:
        bad = tmp_path / "bad.jsonl"
        ds = ps.Dataset.range(-1, 3).map(lambda x: 6 // int(x)).on_error("quarantine", bad)
        for epoch in (1, 2):
            assert [int(x) for x in ds] == [-6, 6, 3]
            assert len(lines(bad)) == epoch
        said = lines(bad)[0]
        assert (said["op"], said["number"], said["file"], said["offset"]) == ("map", 1, None, None)
        assert (said["error"], said["cause"]) == ("FunctionError", "ZeroDivisionError")

    def test_given_a_limit_then_the_next_failure_raises_and_the_rest_follows(self) -> None:
        assert events(failing(6, 0, 2, 3, 5).on_error("skip", limit=2)) == [1, FAILED, 4, FAILED]
        with pytest.raises(ps.errors.FunctionError) as caught:
            list(failing(3, 1).on_error("skip", limit=0))
        assert "one more than the limit of 0" in "".join(caught.value.__notes__)

    def test_given_nothing_that_fails_then_there_is_no_file(self, tmp_path: Path) -> None:
        list(ps.Dataset.range(3).on_error("quarantine", tmp_path / "bad.jsonl"))
        assert not list(tmp_path.iterdir())

    def test_given_a_file_that_cannot_be_written_then_nothing_is_left_out_silently(
        self, tmp_path: Path
    ) -> None:
        ds = failing(3, 1).on_error("quarantine", tmp_path / "none" / "bad.jsonl")
        with pytest.raises(ps.errors.StoreError, match=r"^on_error at .*No such file.*folder") as caught:
            list(ds)
        assert caught.value.errno == errno.ENOENT

    def test_given_wrong_arguments_then_declaring_fails(self) -> None:
        ds = ps.Dataset.range(3)
        with pytest.raises(ValueError, match=r"on_error at .*test_on_error.*'quarantine', got 'ignore'"):
            ds.on_error("ignore")
        for action, path in (("quarantine", None), ("skip", "bad.jsonl"), ("raise", "bad.jsonl")):
            with pytest.raises(ValueError, match=r"on_error at .*expected quarantine='FILE'"):
                ds.on_error(action, path)
        with pytest.raises(ValueError, match=r"on_error\(limit=\) at .*at least 0"):
            ds.on_error("skip", limit=-1)
        with pytest.raises(
            TypeError, match=r"on_error\(quarantine=\) at .*expected the path of a file, got 3"
        ):
            ds.on_error("quarantine", 3)
