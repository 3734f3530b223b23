"""Long strings in Examples: they are left where they were read to, and nothing else is different."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.blocks import placed_rows

SHAPE = (16, 16, 8)
ROWS = 37
BUDGET = 64 << 20


@pytest.fixture(scope="module")
def images() -> np.ndarray[Any, Any]:
    return np.random.default_rng(3).integers(0, 256, (ROWS, *SHAPE), np.uint8)


@pytest.fixture(scope="module")
def files(images: np.ndarray[Any, Any], tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("large")
    paths = [str(folder / f"{i}.tfrecord") for i in range(3)]
    for number, path in enumerate(paths):
        with ps.io.TFRecordWriter(path) as writer:
            for i in range(number, ROWS, 3):
                record = {"image": images[i].tobytes(), "i": i, "short": b"x" * (i % 4)}
                writer.write(ps.io.serialize_example(record))
    return paths


FEATURES = {
    "image": ps.io.FixedLenFeature([], "string"),
    "i": ps.io.FixedLenFeature([], "int64"),
    "short": ps.io.FixedLenFeature([], "string"),
}


def decoded(record: Any) -> Any:
    parsed = ps.io.parse_single_example(record, FEATURES)
    return {**parsed, "image": ps.io.decode_raw(parsed["image"], np.uint8).reshape(SHAPE)}


def records(files: list[str]) -> ps.Dataset:
    return ps.Dataset.from_tensor_slices(files).interleave(ps.TFRecordDataset, cycle_length=3)


def numbered(got: list[Any], images: np.ndarray[Any, Any]) -> list[int]:
    """The numbers of the images; each is held to what was written."""
    for element in got:
        np.testing.assert_array_equal(element["image"], images[element["i"]])
        assert element["short"] == b"x" * (int(element["i"]) % 4)
    return [int(element["i"]) for element in got]


@pytest.mark.parametrize("block_rows", [1, 2, 7, None])
def test_given_images_when_read_in_turn_and_shuffled_then_they_come_in_one_order_for_every_block(
    files: list[str], images: np.ndarray[Any, Any], block_rows: int | None
) -> None:
    ds = records(files).map(decoded)
    how = ps.Options(block_rows=block_rows)
    assert numbered(list(ds.with_options(how)), images) == list(range(ROWS))
    wanted = list(ps.Dataset.range(ROWS).shuffle(9, seed=4).as_numpy_iterator())
    shuffled = ds.shuffle(9, seed=4).with_options(how)
    assert numbered(list(shuffled), images) == [int(number) for number in wanted]


def test_given_images_when_batched_cast_or_kept_then_they_are_what_was_written(
    files: list[str], images: np.ndarray[Any, Any]
) -> None:
    pictures = records(files).map(decoded).map(lambda element: element["image"])
    np.testing.assert_array_equal(np.concatenate(list(pictures.batch(5))), images)
    floats = pictures.map(lambda image: image.astype(np.float32) / 255)
    np.testing.assert_array_equal(np.concatenate(list(floats.batch(8))), images.astype(np.float32) / 255)
    kept = pictures.cache()
    for _ in range(2):
        np.testing.assert_array_equal(np.stack(list(kept)), images)
    windows = [np.stack(list(window)) for window in pictures.window(10)]
    np.testing.assert_array_equal(np.concatenate(windows), images)


def test_given_strings_that_are_kept_then_they_are_what_was_written(
    files: list[str], images: np.ndarray[Any, Any]
) -> None:
    raw = records(files).map(lambda record: ps.io.parse_single_example(record, FEATURES)["image"])
    wanted = [image.tobytes() for image in images]
    assert list(raw) == wanted
    assert sorted(raw.shuffle(10, seed=1)) == sorted(wanted)
    assert [one for batch in raw.batch(4) for one in batch] == wanted
    assert list(raw.cache()) == wanted
    assert list(raw.map(lambda one: one, executor="threads", num_parallel_calls=2)) == wanted


def test_given_a_function_that_writes_to_what_was_decoded_then_it_fails_as_it_does_for_one_row(
    files: list[str],
) -> None:
    def darker(record: Any) -> Any:
        image = decoded(record)["image"]
        image -= 1
        return image

    with pytest.raises(ps.errors.FunctionError, match="read-only"):
        list(records(files).map(darker))


def test_given_a_shape_that_does_not_fit_then_the_error_is_that_of_one_row(files: list[str]) -> None:
    def misshapen(record: Any) -> Any:
        image = ps.io.parse_single_example(record, FEATURES)["image"]
        return ps.io.decode_raw(image, np.uint8).reshape(7, 11)

    with pytest.raises(ps.errors.FunctionError, match="reshape"):
        list(records(files).map(misshapen))


@pytest.mark.parametrize("shape", [(-1,), (2048,), (16, -1), (2, 1024)])
def test_given_any_shape_then_it_is_what_numpy_makes_of_a_row(
    files: list[str], images: np.ndarray[Any, Any], shape: Any
) -> None:
    def shaped(record: Any) -> Any:
        return decoded(record)["image"].reshape(shape)

    for got, image in zip(records(files).map(shaped), images, strict=True):
        np.testing.assert_array_equal(got, image.reshape(shape))
        assert not got.flags.writeable


def test_given_wider_numbers_then_they_lie_as_their_dtype_wants_them(
    files: list[str], images: np.ndarray[Any, Any]
) -> None:
    def numbers(record: Any) -> Any:
        return ps.io.decode_raw(ps.io.parse_single_example(record, FEATURES)["image"], "int32")

    for got, image in zip(records(files).map(numbers), images, strict=True):
        np.testing.assert_array_equal(got, image.reshape(-1).view(np.int32))
        assert got.flags.aligned


def test_given_one_image_of_another_size_then_all_are_decoded(
    images: np.ndarray[Any, Any], tmp_path: Path
) -> None:
    path = str(tmp_path / "odd.tfrecord")
    wanted = [images[0].tobytes(), images[1].tobytes(), images[2].tobytes()[:-3], images[3].tobytes()]
    with ps.io.TFRecordWriter(path) as writer:
        for image in wanted:
            writer.write(ps.io.serialize_example({"image": image}))
    features = {"image": FEATURES["image"]}
    ds = records([path, path]).map(
        lambda record: ps.io.decode_raw(ps.io.parse_single_example(record, features)["image"], np.uint8)
    )
    assert [got.tobytes() for got in ds] == [image for image in wanted for _ in range(2)]


def test_given_a_missing_feature_with_an_empty_default_then_it_is_empty(
    images: np.ndarray[Any, Any], tmp_path: Path
) -> None:
    path = str(tmp_path / "some.tfrecord")
    with ps.io.TFRecordWriter(path) as writer:
        for i in range(6):
            record = {"other": 1} if i % 3 == 1 else {"image": images[i].tobytes()}
            writer.write(ps.io.serialize_example(record))
    features = {"image": ps.io.FixedLenFeature([], "string", default_value=b"")}
    ds = ps.TFRecordDataset(path).map(lambda record: ps.io.parse_single_example(record, features)["image"])
    assert list(ds) == [b"" if i % 3 == 1 else images[i].tobytes() for i in range(6)]


def test_given_a_run_of_large_records_when_closed_then_nothing_is_held(files: list[str]) -> None:
    ds = records(files).map(decoded).shuffle(9).batch(2)
    with ds.iterate(memory=BUDGET) as it:
        batches = [next(it) for _ in range(3)]
        report = it.report()
        assert 0 < report.peak <= BUDGET
    report = it.report()
    assert report.held == 0
    assert report.lent_bytes >= sum(batch["image"].nbytes for batch in batches)
    del batches
    assert it.report().lent_bytes == 0


def test_given_decoded_rows_that_the_user_keeps_then_they_count_as_lent(files: list[str]) -> None:
    with records(files).map(lambda record: decoded(record)["image"]).iterate() as it:
        kept = list(it)
        assert it.report().lent_bytes >= sum(image.nbytes for image in kept)


def test_given_a_prefetch_then_rows_are_laid_ahead(files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    laying = []
    plain = placed_rows.move_places

    def move_places(*args: Any) -> None:
        laying.append(threading.current_thread())
        plain(*args)

    monkeypatch.setattr(placed_rows, "move_places", move_places)
    monkeypatch.setattr("penstock.engine.prefetch.PAUSE", 0.0)  # its thread makes every block
    assert len(list(records(files).map(lambda record: decoded(record)["image"]).prefetch(8))) == ROWS
    assert laying
    assert threading.main_thread() not in laying
