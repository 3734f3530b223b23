"""`ps.image.random_resized_crop`: on arrays and on the bytes of JPEGs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import drain, same
from contract.pictures import BASELINE, PROGRESSIVE, by_numpy, jpeg, photo
from contract.ways import why_row_by_row
from penstock.image.resampled import Resampled

crop = ps.image.random_resized_crop


def slope(height: int, width: int) -> Any:
    """An image whose pixels tell where they are: their row and their column."""
    return np.stack(np.mgrid[:height, :width], axis=-1).astype(np.float32)


def windows(count: int = 400, height: int = 90, width: int = 120, **how: Any) -> Any:
    """Top, left, height and width of drawn windows, seen in the pixels that come out."""
    ds = ps.Dataset.from_tensors(slope(height, width)).repeat(count)
    got = np.stack(drain(ds.map(lambda x: crop(x, (2, 2), **how)), limit=count))
    # A quarter into the window, and three quarters.
    first, second = got[:, 0, 0], got[:, 1, 1]
    size = (second - first) * 2
    return np.round(np.concatenate([first - size / 4 + 0.5, size], axis=1)).astype(int)


@pytest.mark.parametrize("method", ["bilinear", "nearest"])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.int16, np.float64])
@pytest.mark.parametrize("shape", [(37, 50), (37, 50, 1), (37, 50, 3), (21, 30, 4)])
def test_given_a_window_then_it_is_resized_as_resize_does(shape: Any, dtype: Any, method: str) -> None:
    rng = np.random.default_rng(len(shape))
    image = (rng.random(shape) * 255).astype(dtype)
    for _ in range(25):
        rows, columns = int(rng.integers(1, shape[0] + 1)), int(rng.integers(1, shape[1] + 1))
        top = int(rng.integers(0, shape[0] - rows + 1))
        left = int(rng.integers(0, shape[1] - columns + 1))
        size = (int(rng.integers(1, 70)), int(rng.integers(1, 70)))
        got = Resampled(image, (top, left, rows, columns), 1, size, method).decoded()
        expected = by_numpy(image[top : top + rows, left : left + columns], size, method=method)
        assert same(got, expected), (top, left, rows, columns, size)


def test_given_the_whole_image_as_the_only_window_then_it_is_resize() -> None:
    image = photo(30, 40)
    got = crop(image, (16, 16), scale=(1, 1), ratio=(4 / 3, 4 / 3), seed=1)
    assert same(got, by_numpy(image, (16, 16)))


def test_given_many_draws_then_area_shape_and_place_are_within_bounds_and_vary() -> None:
    got = windows()
    top, left, height, width = got.T
    assert (top >= 0).all() and (left >= 0).all()
    assert (top + height <= 90).all() and (left + width <= 120).all()
    area, aspect = height * width / (90 * 120), width / height
    assert area.min() > 0.07 and area.max() <= 1
    assert 0.3 < area.mean() < 0.6 and area.std() > 0.15
    assert aspect.min() > 0.72 and aspect.max() < 1.39
    assert (aspect < 0.9).mean() > 0.15 and (aspect > 1.1).mean() > 0.15
    assert len({tuple(row) for row in got.tolist()}) > 350


def test_given_a_scale_and_a_ratio_then_windows_have_them() -> None:
    _, _, height, width = windows(100, scale=(0.25, 0.25), ratio=(1, 1)).T
    assert set(height.tolist()) == set(width.tolist()) == {52}  # the root of a quarter of 90 x 120


@pytest.mark.parametrize(
    ("height", "width", "expected"),
    [(8, 80, (0, 34, 8, 11)), (80, 8, (34, 0, 11, 8)), (6, 60, (0, 26, 6, 8))],
)
def test_given_no_window_that_fits_then_it_is_the_middle(height: int, width: int, expected: Any) -> None:
    got = windows(5, height, width, scale=(1, 1))
    assert [tuple(row) for row in got.tolist()] == [expected] * 5


# JPEGs


def draws_of(contents: bytes, size: Any, **how: Any) -> Any:
    return drain(ps.Dataset.from_tensors(contents).repeat(12).map(lambda x: crop(x, size, **how)))


@pytest.mark.parametrize("method", ["bilinear", "nearest"])
@pytest.mark.parametrize("size", [(32, 31), (40, 20), (20, 40)])
@pytest.mark.parametrize(
    "contents", [BASELINE, PROGRESSIVE, jpeg(75, 61)], ids=["baseline", "progressive", "odd"]
)
def test_given_a_jpeg_not_twice_as_large_then_it_is_the_crop_of_the_decoded_image(
    contents: bytes, size: Any, method: str
) -> None:
    decoded = ps.io.decode_jpeg(contents)
    got = draws_of(contents, size, interpolation=method)
    assert same(got, draws_of(decoded, size, interpolation=method))


@pytest.mark.parametrize("ratio", [2, 4, 8])
def test_given_a_jpeg_that_is_large_then_it_is_decoded_smaller_and_shows_the_same(ratio: int) -> None:
    contents = jpeg(256, 256, quality=95, sampling="444")
    side, how = 256 // ratio, {"scale": (1, 1), "ratio": (1, 1), "seed": 1}
    whole = ps.io.decode_jpeg(contents, ratio=ratio)
    assert same(crop(contents, (side, side), **how), whole.astype(np.float32))


def test_given_a_window_within_pixels_of_the_smaller_image_then_places_are_kept() -> None:
    import simplejpeg

    rows = np.repeat(np.arange(0, 256, 4, dtype=np.uint8)[:, None], 64, axis=1)
    for image in (rows, rows.T):
        contents = bytes(simplejpeg.encode_jpeg(image[..., None].copy(), 98, "GRAY", "Gray"))
        small = draws_of(contents, (10, 10), scale=(0.3, 1))
        exact = draws_of(image[..., None], (10, 10), scale=(0.3, 1))
        for got, expected in zip(small, exact, strict=True):
            # A pixel is four levels of grey: nothing has moved by half of one.
            assert np.abs((got - expected)[1:-1, 1:-1].mean()) < 1.5


def test_given_channels_then_a_jpeg_is_decoded_so() -> None:
    assert crop(BASELINE, (8, 9), channels=1, seed=1).shape == (8, 9, 1)


def test_given_a_bad_jpeg_then_it_is_a_data_error_that_names_the_function() -> None:
    for contents in (b"", b"hello", BASELINE[:100], BASELINE[:-40]):
        with pytest.raises(ps.errors.DataError, match=r"ps\.image\.random_resized_crop: expected"):
            crop(contents, (40, 40), scale=(1, 1), seed=1)


# Over blocks, and again


SOURCES: dict[str, Any] = {
    "images": lambda: np.stack([photo(30, 40, seed) for seed in range(20)]),
    "grey images": lambda: np.stack([photo(30, 40, seed)[..., 0] for seed in range(20)]),
    "jpegs": lambda: np.array([jpeg(30, 40, seed) for seed in range(20)], object),
    "jpegs of several sizes": lambda: np.array([jpeg(30 + seed % 7, 90, seed) for seed in range(20)], object),
}


@pytest.mark.parametrize("method", ["bilinear", "nearest"])
@pytest.mark.parametrize("name", SOURCES)
def test_given_a_block_then_the_bits_are_those_of_a_call_a_row(name: str, method: str) -> None:
    source = ps.Dataset.from_tensor_slices(SOURCES[name]())
    over = source.map(lambda x: crop(x, (16, 17), interpolation=method))
    plain = source.map(
        lambda x: crop(x, (16, 17), interpolation=method) if len(x) and x[0] is not None else x
    )
    assert why_row_by_row(over) == ""
    expected = drain(plain)
    assert same(drain(over), expected)
    for rows in (1, 3, 64):
        assert same(drain(over.with_options(ps.Options(block_rows=rows))), expected)


def test_given_decoded_images_of_several_sizes_then_the_map_stays_over_blocks() -> None:
    source = ps.Dataset.from_tensor_slices(SOURCES["jpegs of several sizes"]())
    over = source.map(lambda x: crop(ps.io.decode_jpeg(x), (16, 17)))
    assert why_row_by_row(over) == ""
    assert all(x.shape == (16, 17, 3) for x in drain(over))


def test_given_a_seed_then_a_pass_repeats_and_the_next_epoch_differs() -> None:
    ds = ps.Dataset.from_tensor_slices(SOURCES["jpegs"]()).map(lambda x: crop(x, (16, 16)))
    assert same(drain(ds, seed=1, epoch=0), drain(ds, seed=1, epoch=0))
    assert not same(drain(ds, seed=1, epoch=0), drain(ds, seed=1, epoch=1))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x: crop(x, (0, 3)),
        lambda x: crop(x, 3),
        lambda x: crop(x, (3, 3), scale=(0.5, 0.1)),
        lambda x: crop(x, (3, 3), scale=(0, 0.1)),
        lambda x: crop(x, (3, 3), scale=(0.5, 1.5)),
        lambda x: crop(x, (3, 3), ratio=(1,)),
        lambda x: crop(x, (3, 3), ratio=(1, float("inf"))),
        lambda x: crop(x, (3, 3), interpolation="wobbly"),
        lambda x: crop(x, (3, 3), channels=2),
        lambda x: crop(x[0, 0], (3, 3)),
        lambda x: crop(x[:0], (3, 3), seed=1),
    ],
)
def test_given_a_wrong_argument_then_the_error_names_the_function(wrong: Any) -> None:
    image = photo(8, 6)
    with pytest.raises(
        ps.errors.FunctionError, match=r"element 0: .*ps\.image\.random_resized_crop.*: expected"
    ):
        list(ps.Dataset.from_tensors(image).map(wrong))
