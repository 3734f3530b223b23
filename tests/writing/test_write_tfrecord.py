"""A dataset written to TFRecord files: what is in them, and what the manifest says."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.errors import ArgumentError, ArgumentTypeError, CardinalityError, FunctionError
from penstock.kernels.crc32c import plain_crc32c
from penstock.writing import progress
from penstock.writing.manifest import load_manifest

N = 100


def rows(count: int = N) -> ps.Dataset:
    return ps.Dataset.from_tensor_slices(
        {
            "number": np.arange(count) - 3,
            "pixels": np.arange(count * 6, dtype=np.uint8).reshape(count, 2, 3),
            "weight": np.linspace(0, 1, count).astype(np.float32),
            "text": [f"text {i}" for i in range(count)],
        }
    )


def parsed(folder: Path, compression: str | None = None) -> list[dict[str, Any]]:
    manifest = load_manifest(folder)
    assert manifest is not None
    files = [str(folder / shard.name) for shard in manifest.shards]
    features = manifest.parsing()
    ds = ps.TFRecordDataset(files, compression)
    return list(ds.map(lambda record: ps.io.parse_single_example(record, features)))


def counts(folder: Path) -> list[int]:
    return [sum(1 for _ in ps.TFRecordDataset(str(path))) for path in sorted(folder.glob("data-*"))]


def said(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return found


@pytest.mark.parametrize("compression", [None, "GZIP", "ZLIB", "ZSTD"])
def test_given_dicts_when_written_then_the_manifest_tells_how_to_have_them_back(
    compression: str | None, tmp_path: Path
) -> None:
    written = rows().write_tfrecord(tmp_path, shards=3, compression=compression)
    back = parsed(tmp_path, compression)
    assert written.elements == len(back) == N
    for one, other in zip(rows(), back, strict=True):
        assert one["number"] == other["number"]
        assert one["pixels"].tolist() == other["pixels"].tolist()
        assert one["weight"] == other["weight"]
        assert one["text"].encode() == other["text"]


def test_given_bytes_then_they_are_the_records(tmp_path: Path) -> None:
    records = [b"", b"one", bytes(700_000), b"four"]
    written = ps.Dataset.from_generator(lambda: iter(records)).write_tfrecord(tmp_path)
    assert list(ps.TFRecordDataset(written.shards)) == records
    assert said(tmp_path)["features"] is None


def test_given_an_array_of_bytes_of_one_length_then_they_are_the_records(tmp_path: Path) -> None:
    written = ps.Dataset.from_tensor_slices(np.array([b"ab", b"cd"])).write_tfrecord(tmp_path, shards=1)
    assert list(ps.TFRecordDataset(written.shards)) == [b"ab", b"cd"]


@pytest.mark.parametrize(("count", "shards"), [(10, 3), (9, 3), (2, 5), (0, 2), (1, 1)])
def test_given_a_number_of_shards_then_consecutive_elements_are_shared_out_evenly(
    count: int, shards: int, tmp_path: Path
) -> None:
    ds = ps.Dataset.range(count).map(lambda x: {"x": x})
    ds.write_tfrecord(tmp_path, shards=shards)
    found = counts(tmp_path)
    assert len(found) == shards
    assert sum(found) == count
    assert max(found) - min(found) <= 1
    assert [int(one["x"]) for one in parsed(tmp_path)] == list(range(count))
    names = sorted(path.name for path in tmp_path.glob("data-*"))
    assert names == [f"data-{i:05}-of-{shards:05}.tfrecord" for i in range(shards)]


@pytest.mark.parametrize("block_rows", [1, 7, None])
@pytest.mark.parametrize("size", [78, 103])
def test_given_a_size_then_a_shard_ends_before_the_record_that_goes_over_it(
    block_rows: int | None, size: int, tmp_path: Path
) -> None:
    # Frames of 16 bytes more: 26 + 26 + 26 are 78, one more is 104; 116 are over by themselves.
    records = [bytes(10)] * 7 + [bytes(100)] + [bytes(10)] * 2
    ds = ps.Dataset.from_generator(lambda: iter(records)).with_options(ps.Options(block_rows=block_rows))
    ds.write_tfrecord(tmp_path, shard_bytes=size)
    assert counts(tmp_path) == [3, 3, 1, 1, 2]
    assert [path.name for path in sorted(tmp_path.glob("data-*"))][4] == "data-00004.tfrecord"


def test_given_no_elements_and_no_number_of_shards_then_there_is_a_manifest_alone(tmp_path: Path) -> None:
    written = ps.Dataset.range(0).map(lambda x: {"x": x}).write_tfrecord(tmp_path)
    assert (written.elements, written.shards) == (0, ())
    assert said(tmp_path)["state"] == "complete"


def test_when_written_then_the_manifest_says_what_is_there(tmp_path: Path) -> None:
    written = rows().write_tfrecord(tmp_path / "made" / "here", shards=4, seed=5)
    found = said(tmp_path / "made" / "here")
    assert found["format"] == "penstock-tfrecord"
    assert found["version"] == 1
    assert found["state"] == "complete"
    assert found["elements"] == N
    assert found["compression"] is None
    assert found["layout"] == {"shards": 4, "length": N}
    assert found["seed"] == 5
    assert [op for op, _ in found["pipeline"]] == [rows().op.describe()]
    assert found["features"]["pixels"] == {
        "dtype": "uint8",
        "shape": [2, 3],
        "stored": "int64",
        "optional": False,
    }
    assert found["features"]["text"]["stored"] == "bytes"
    for shard, path in zip(found["shards"], written.shards, strict=True):
        content = Path(path).read_bytes()
        assert shard["name"] == Path(path).name
        assert shard["records"] == N // 4
        assert shard["bytes"] == len(content)
        assert int(shard["crc32c"], 16) == plain_crc32c(content)
    assert found["bytes"] == written.bytes == sum(shard["bytes"] for shard in found["shards"])


def uneven() -> Iterator[dict[str, Any]]:
    for i in range(20):
        yield {
            "ids": np.arange(i % 4),
            "boxes": np.full((i % 3, 4), i, np.float32),
            "same": np.full((2, 2), i),
            "words": np.array([f"w{j}" for j in range(i % 3)], object),
            "maybe": None if i % 5 == 0 else i,
        }


def test_given_elements_that_differ_then_the_manifest_tells_what_they_have_in_common(tmp_path: Path) -> None:
    ps.Dataset.from_generator(uneven).write_tfrecord(tmp_path, shard_bytes=300)
    found = said(tmp_path)["features"]
    assert found["ids"]["shape"] == [None]
    assert found["boxes"]["shape"] == [None, 4]
    assert found["same"]["shape"] == [2, 2]
    assert (found["words"]["dtype"], found["words"]["shape"]) == ("str", [None])
    assert found["maybe"]["optional"] is True
    for one, other in zip(uneven(), parsed(tmp_path), strict=True):
        assert one["ids"].tolist() == other["ids"].tolist()
        assert one["boxes"].tolist() == other["boxes"].tolist()
        assert one["same"].tolist() == other["same"].tolist()
        assert [word.encode() for word in one["words"]] == list(other["words"])
        assert ([] if one["maybe"] is None else [one["maybe"]]) == other["maybe"].tolist()


def test_given_seeds_then_what_is_written_is_what_the_first_pass_gives(tmp_path: Path) -> None:
    ds = ps.Dataset.range(N).shuffle(30, seed=3).map(lambda x: {"x": x})
    first = [int(one["x"]) for one in ds]
    ds.write_tfrecord(tmp_path, shards=2)
    assert [int(one["x"]) for one in parsed(tmp_path)] == first


@pytest.mark.parametrize("how", ["argument", "options"])
def test_given_a_seed_of_the_run_then_iterating_with_it_gives_the_same(how: str, tmp_path: Path) -> None:
    ds = ps.Dataset.range(N).shuffle(30).map(lambda x: {"x": x})
    with ds.iterate(seed=9, epoch=0) as it:
        expected = [int(one["x"]) for one in it]
    if how == "argument":
        ds.write_tfrecord(tmp_path, shards=2, seed=9)
    else:
        ds.with_options(ps.Options(seed=9)).write_tfrecord(tmp_path, shards=2)
    assert [int(one["x"]) for one in parsed(tmp_path)] == expected


@pytest.mark.parametrize("budget", ["256KiB", "1GiB"])
@pytest.mark.parametrize("compression", [None, "GZIP"])
def test_given_any_budget_and_blocks_then_the_files_are_the_same(
    budget: str, compression: str | None, tmp_path: Path
) -> None:
    rows(20_000).write_tfrecord(tmp_path / "one", shards=2, compression=compression)
    other = rows(20_000).with_options(ps.Options(block_rows=333))
    other.write_tfrecord(tmp_path / "two", shards=2, compression=compression, memory=budget)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


@pytest.mark.parametrize(
    ("ds", "words"),
    [
        (ps.Dataset.range(3), "ds.map(lambda x: {'x': x})"),
        (ps.Dataset.zip(ps.Dataset.range(3), ps.Dataset.range(3)), "lambda x0, x1: {'x0': x0, 'x1': x1}"),
        (ps.Dataset.from_tensor_slices(["a", "b"]), "ds.map(lambda x: {'x': x})"),
        (ps.Dataset.from_tensor_slices({"a": {"b": [1]}}), "feature 'a'"),
        (ps.Dataset.from_tensor_slices({3: [1]}), "names are str"),
        (ps.Dataset.from_tensor_slices({"c": [1j]}), "feature 'c', got complex128"),
        (ps.Dataset.range(3).window(2).map(lambda w: {"w": w}), "got a dataset"),
    ],
)
def test_given_elements_that_cannot_be_written_then_nothing_is_touched(
    ds: ps.Dataset, words: str, tmp_path: Path
) -> None:
    with pytest.raises(ArgumentTypeError, match=r"test_write_tfrecord\.py") as caught:
        ds.write_tfrecord(tmp_path / "new")
    assert words in str(caught.value)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("element", "words"),
    [
        (3, "ds.map(lambda x: {'x': x})"),
        (np.array([b"a", b"b"]), "shape=(2,), dtype=bytes"),
        ({"a": (1, 2)}, "feature 'a'"),
        ({"c": 1j}, "got complex128"),
    ],
)
def test_given_elements_that_nobody_knew_before_then_the_first_one_tells_and_no_file_is_made(
    element: Any, words: str, tmp_path: Path
) -> None:
    ds = ps.Dataset.from_generator(lambda: iter([element]))
    assert ds.op.spec is None
    with pytest.raises(ArgumentTypeError, match=r"write_tfrecord at .*test_write_tfrecord\.py") as caught:
        ds.write_tfrecord(tmp_path)
    assert words in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_given_a_generator_then_it_is_read_once(tmp_path: Path) -> None:
    times = []

    def numbers() -> Iterator[dict[str, int]]:
        times.append(1)
        yield from ({"x": i} for i in range(N))

    written = ps.Dataset.from_generator(numbers).shuffle(N).write_tfrecord(tmp_path)
    assert written.elements == N
    assert len(times) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"shards": 0}, "at least 1"),
        ({"shards": 2, "shard_bytes": 10}, "got both"),
        ({"shard_bytes": "much"}, "shard_bytes="),
        ({"compression": "LZ4"}, "'GZIP', 'ZLIB', 'ZSTD', got 'LZ4'"),
        ({"overwrite": 1}, "overwrite="),
        ({"seed": "x"}, "seed="),
        ({"memory": "none"}, "memory="),
        ({"directory": 3}, "expected the path of a folder"),
        ({"directory": ""}, "expected the path of a folder, got ''"),
        ({"directory": "s3://bucket/data"}, "expected a folder of this machine"),
    ],
)
def test_given_wrong_arguments_then_they_are_refused_before_anything_is_made(
    arguments: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises((ArgumentError, ArgumentTypeError)) as caught:
        rows().write_tfrecord(**{"directory": tmp_path / "new", **arguments})
    assert words in str(caught.value)
    assert not (tmp_path / "new").exists()


def test_given_shards_and_no_known_length_then_the_remedies_are_named(tmp_path: Path) -> None:
    ds = rows().filter(lambda e: e["number"] > 0)
    with pytest.raises(ArgumentError, match=r"assert_cardinality.*shard_bytes="):
        ds.write_tfrecord(tmp_path, shards=2)
    ds.apply(ps.assert_cardinality(N - 4)).write_tfrecord(tmp_path, shards=2)
    assert counts(tmp_path) == [48, 48]


@pytest.mark.parametrize("shards", [None, 2])
def test_given_a_dataset_without_end_then_it_is_refused(shards: int | None, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="take"):
        rows().repeat().write_tfrecord(tmp_path, shards=shards)


@pytest.mark.parametrize("expected", [N - 10, N + 10])
def test_given_a_wrong_length_then_the_end_says_so_and_nothing_is_called_complete(
    expected: int, tmp_path: Path
) -> None:
    with pytest.raises(CardinalityError, match=str(expected)):
        rows().apply(ps.assert_cardinality(expected)).write_tfrecord(tmp_path, shards=2)
    assert said(tmp_path)["state"] == "writing"


@pytest.mark.parametrize(("length", "words"), [(N - 10, "90 elements.*got more"), (N + 10, "110 .*got 100")])
def test_given_an_op_that_is_wrong_about_its_length_then_that_is_noticed(
    length: int, words: str, tmp_path: Path
) -> None:
    ds = rows().map(lambda e: e)
    ds.op.__dict__["cardinality"] = length
    with pytest.raises(CardinalityError, match=words):
        ds.write_tfrecord(tmp_path, shards=2)
    assert said(tmp_path)["state"] == "writing"


def test_given_a_value_that_does_not_fit_then_the_error_names_the_feature_and_the_element(
    tmp_path: Path,
) -> None:
    numbers = np.array([1, 2, 2**63, 4], np.uint64)
    with pytest.raises(FunctionError, match=r"'x'.*9223372036854775808") as caught:
        ps.Dataset.from_tensor_slices({"x": numbers}).write_tfrecord(tmp_path)
    assert caught.value.number == 2
    assert any("goes on" in note for note in caught.value.__notes__)
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_given_a_terminal_then_a_line_tells_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "EVERY", 0)
    monkeypatch.setattr(sys, "stderr", Terminal())
    rows().write_tfrecord(tmp_path, shards=2)
    lines = sys.stderr.getvalue().split("\r")  # type: ignore[attr-defined]
    assert any("1 shards, " in line and f"elements of {N}" in line for line in lines)
    assert any("MB/s" in line and "s to go" in line for line in lines)
    assert lines[-2].strip() == lines[-1] == ""


def test_given_no_terminal_then_nothing_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "EVERY", 0)
    rows().write_tfrecord(tmp_path, shards=2)
    assert capfd.readouterr() == ("", "")


def test_when_written_then_its_repr_is_a_sentence(tmp_path: Path) -> None:
    written = rows().write_tfrecord(tmp_path, shards=2)
    assert repr(written).startswith(f"Written('{tmp_path}': 100 elements in 2 shards, ")


def test_given_a_dataset_of_the_files_that_would_be_removed_then_they_stay(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    written = rows().write_tfrecord(folder, shards=4)
    (tmp_path / "link").symlink_to(folder)
    by_name = ps.TFRecordDataset(written.shards)
    by_pattern = ps.TFRecordDataset(ps.Dataset.list_files(f"{tmp_path}/link/*.tfrecord"))
    for ds in (by_name, by_pattern, by_name.concatenate(ps.TFRecordDataset("elsewhere"))):
        with pytest.raises(ArgumentError, match=r"does not read from, but it reads .*data-0000\d-of-00004"):
            ds.write_tfrecord(folder, overwrite=True)
    assert len(parsed(folder)) == N

    (folder / "lines.txt").write_bytes(b"one\ntwo\n")  # not called as shards are
    ps.TextLineDataset(folder / "lines.txt").write_tfrecord(folder, overwrite=True)
    assert counts(folder) == [2]


def test_given_more_files_than_are_kept_by_name_then_none_of_them_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.io.stores.watched.MOST", 2)
    written = rows().write_tfrecord(tmp_path / "data")
    ds = ps.TFRecordDataset(["one", "two", "three"]).concatenate(ps.TFRecordDataset(written.shards))
    with pytest.raises(ArgumentError, match=r"does not read from, but it reads .*data-00000"):
        ds.write_tfrecord(tmp_path / "data", overwrite=True)
    assert len(parsed(tmp_path / "data")) == N
