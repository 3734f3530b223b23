"""Work on images that is put off and done in one pass gives the bits of NumPy's passes."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.blocks.placed_rows import PlacedRows
from penstock.kernels import loading, pixels

ROWS = 3000
flip, turn = ps.image.random_flip_left_right, ps.image.random_flip_up_down


@pytest.fixture
def compiled() -> Iterator[None]:
    before = loading._ready
    loading.load()
    yield
    loading._ready = before


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many steps were done in one pass, each time."""
    seen: list[int] = []
    run = pixels.run

    def noting(*args: Any) -> None:
        seen.append(len(args[3]))
        run(*args)

    monkeypatch.setattr(pixels, "run", noting)
    return seen


def in_place(x: Any) -> Any:
    cast = x.astype(np.float32)
    half = cast / 2
    cast /= 255
    return cast, half


def through_a_view(x: Any) -> Any:
    cast = x.astype(np.float32)
    flat = cast.reshape(-1)
    flat -= flat[:1]
    return cast


def changed(x: Any, more: Callable[[Any], Any]) -> Any:
    """Some rows alone are changed in place, before something more is done."""
    cast = x.astype(np.float32)
    cast[cast < 9] = 9
    return more(cast)


def mirrored_and_changed(x: Any) -> Any:
    turned = flip(x)
    turned[turned < 9] = 9
    return turned.astype(np.float32)


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], bool]] = {
    "scaled": (lambda x: x.astype(np.float32) / 255, True),
    "scaled, then mirrored": (lambda x: flip(x.astype(np.float32) / 255), True),
    "mirrored, then scaled": (lambda x: flip(x).astype(np.float32) * 2 - 1, True),
    "upside down": (lambda x: turn(x.astype(np.float32) / 255), True),
    "mirrored twice": (lambda x: turn(flip(x).astype(np.float32) / 255), True),
    "normalised": (lambda x: (x.astype(np.float32) / 255 - 0.5) / 0.25 + 1, True),
    "the other way round": (lambda x: 1 - x.astype(np.float32), True),
    "a NumPy number": (lambda x: np.float32(2) * x.astype(np.float32), True),
    "convert_image_dtype": (lambda x: ps.image.convert_image_dtype(x, np.float32), True),
    "cast and both kept": (lambda x: (x, x.astype(np.float32)), True),
    "in place": (in_place, True),
    "more steps than are put off": (lambda x: x.astype(np.float32) / 2 / 3 / 4 / 5 / 6 / 7, True),
    "and a reduction": (lambda x: (x.astype(np.float32) / 255).sum(), True),
    "times zero": (lambda x: x.astype(np.float32) * 0, True),
    "only mirrored": (lambda x: flip(x), False),
    "mirrored twice as bytes": (lambda x: turn(flip(x)), False),
    "to float64": (lambda x: x / 255, False),
    "passed on": (lambda x: x, False),
    "in another shape, then scaled": (lambda x: x.reshape(-1).reshape(x.size).astype(np.float32) / 255, True),
    "scaled, then in another shape": (lambda x: (x.astype(np.float32) / 255).reshape(2, x.size // 2), True),
    "mirrored, then in another shape": (lambda x: flip(x).reshape(x.size).astype(np.float32) / 255, False),
    "in place, through a view": (through_a_view, True),
    "in place, then scaled": (lambda x: changed(x, lambda y: y / 255), True),
    "in place, then mirrored": (lambda x: changed(x, flip), True),
    "in place through a view, then scaled": (lambda x: through_a_view(x) * 2, True),
    "mirrored, changed in place, then cast": (mirrored_and_changed, False),
    "only in another shape": (lambda x: x.reshape(x.size), False),
}


def stream(ds: ps.Dataset) -> list[Any]:
    with ds.with_options(ps.Options(block_rows=1000)).iterate(seed=3) as it:
        return list(it)


def same(left: Any, right: Any) -> bool:
    if isinstance(left, tuple):
        return all(map(same, left, right))
    return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()


@pytest.mark.parametrize("shape", [(12, 10, 1), (8, 7, 3)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_given_images_when_work_is_put_off_then_the_bits_are_the_same(
    name: str, shape: tuple[int, ...], compiled: None, passes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    function, fused = FUNCTIONS[name]
    images = np.random.default_rng(1).integers(0, 256, (ROWS, *shape)).astype(np.uint8)

    def pipelines() -> list[ps.Dataset]:
        rows = ps.Dataset.from_tensor_slices((images, np.arange(ROWS)))
        first = rows.map(lambda x, y: (function(x), y))
        last = rows.batch(7).unbatch().map(lambda x, y: (function(x), y))
        return [first.shuffle(500, seed=1).batch(32), first.batch(32), last.batch(32)]

    for plain, later in zip(pipelines(), pipelines(), strict=True):
        monkeypatch.setattr(loading, "_ready", False)
        expected = stream(plain)
        monkeypatch.setattr(loading, "_ready", True)
        passes.clear()
        got = stream(later)
        assert len(got) == len(expected)
        assert all(map(same, got, expected))
        assert bool(passes) == fused


@pytest.mark.parametrize("shuffled", [True, False])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_given_images_in_records_when_work_is_put_off_then_the_bits_are_the_same(
    name: str, shuffled: bool, compiled: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    function, shape = FUNCTIONS[name][0], (24, 20, 3)
    images = np.random.default_rng(1).integers(0, 256, (200, *shape)).astype(np.uint8)
    path = tmp_path / "images.tfrecord"
    with ps.io.TFRecordWriter(str(path)) as writer:
        for image in images:
            writer.write(ps.io.serialize_example({"image": image.tobytes()}))
    features = {"image": ps.io.FixedLenFeature([], "bytes")}

    def decoded(record: Any) -> Any:
        raw = ps.io.parse_single_example(record, features)["image"]
        return function(ps.io.decode_raw(raw, np.uint8).reshape(shape))

    def pipeline() -> ps.Dataset:
        records = ps.TFRecordDataset([str(path)] * 3)
        return (records.shuffle(150, seed=1) if shuffled else records).map(decoded).batch(32)

    monkeypatch.setattr(loading, "_ready", False)
    expected = stream(pipeline())
    monkeypatch.setattr(loading, "_ready", True)
    got = stream(pipeline())
    assert len(got) == len(expected)
    assert all(map(same, got, expected))


def test_given_images_in_records_then_they_are_cast_where_they_lie(
    compiled: None, passes: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "images.tfrecord"
    with ps.io.TFRecordWriter(str(path)) as writer:
        for number in range(200):
            writer.write(bytes([number]) * 3000)
    monkeypatch.setattr(PlacedRows, "_put", None)  # what lays them side by side
    rows = ps.TFRecordDataset([str(path)] * 2).shuffle(100, seed=1)
    ds = rows.map(lambda x: ps.io.decode_raw(x, np.uint8).reshape(50, 60).astype(np.float32) / 255)
    batches = stream(ds.batch(40))
    assert passes
    assert sorted(np.concatenate(batches)[:, 0, 0].tolist()) == sorted(
        [np.float32(number) / np.float32(255) for number in range(200)] * 2
    )


def test_given_rows_that_are_changed_in_place_then_what_comes_after_is_made_of_the_change(
    compiled: None,
) -> None:
    images = np.full((ROWS, 12, 10, 1), 200, np.uint8)
    images[700:740, 3] = 5  # few rows, and none of those that are compared with plain calls
    rows = ps.Dataset.from_tensor_slices(images)
    clipped = np.maximum(images, 9).astype(np.float32)
    assert same(np.stack(stream(rows.map(lambda x: changed(x, lambda y: y / 255)))), clipped / 255)
    assert same(np.stack(stream(rows.map(lambda x: changed(x, flip)))), clipped)
    assert same(np.stack(stream(rows.map(mirrored_and_changed))), clipped)


def test_given_rows_in_another_shape_then_one_that_is_kept_keeps_no_others(
    compiled: None, tmp_path: Path
) -> None:
    path = tmp_path / "images.tfrecord"
    with ps.io.TFRecordWriter(str(path)) as writer:
        for number in range(500):
            writer.write(bytes([number % 256]) * 784)
    ds = ps.TFRecordDataset(str(path)).map(lambda x: ps.io.decode_raw(x, np.uint8).reshape(28, 28))
    image = next(iter(ds))  # alone in its block, which is a small part of what was read
    while isinstance(image.base, np.ndarray):
        image = image.base
    assert image.nbytes == 784


@pytest.mark.parametrize("cast", [True, False])
def test_given_images_in_records_and_no_kernel_then_it_is_wanted_where_they_are_cast(
    cast: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "images.tfrecord"
    with ps.io.TFRecordWriter(str(path)) as writer:
        for number in range(200):
            writer.write(bytes([number]) * 3000)
    wanted: list[int] = []
    monkeypatch.setattr(loading, "_ready", False)
    monkeypatch.setattr(loading, "want", lambda size, _: wanted.append(size))
    dtype = np.float32 if cast else np.int16
    ds = ps.TFRecordDataset([str(path)] * 5).map(lambda x: ps.io.decode_raw(x, np.uint8).astype(dtype))
    stream(ds)
    assert bool(sum(wanted)) == cast


def test_given_steps_then_they_are_done_in_one_pass(compiled: None, passes: list[int]) -> None:
    images = np.zeros((ROWS, 8, 8, 3), np.uint8)
    ds = ps.Dataset.from_tensor_slices(images).map(lambda x: flip((x.astype(np.float32) / 255 - 0.5) * 2))
    stream(ds.shuffle(10).batch(32))
    assert set(passes) == {3}


def test_given_errors_that_raise_then_nothing_is_put_off(compiled: None, passes: list[int]) -> None:
    images = np.zeros((ROWS, 8, 8, 1), np.uint8)

    def scaled(x: Any) -> Any:
        with np.errstate(all="raise"):
            return x.astype(np.float32) / 255

    stream(ps.Dataset.from_tensor_slices(images).map(scaled).batch(32))
    assert not passes


def test_given_rows_that_are_picked_when_nothing_is_done_then_they_are_the_users(compiled: None) -> None:
    images = np.random.default_rng(2).integers(0, 256, (ROWS, 6, 6)).astype(np.uint8)
    numbers = [int(n) for n in ps.Dataset.range(ROWS).shuffle(ROWS, seed=5)]
    got = list(ps.Dataset.from_tensor_slices(images).shuffle(ROWS, seed=5))
    assert np.array_equal(np.stack(got), images[numbers])
    assert got[0].flags.writeable
