"""`ps.image` against the real tf.image."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from interop.words import Words

DTYPES = ["uint8", "int8", "uint16", "int16", "int32", "float16", "float32", "float64"]
quickly = settings(max_examples=40, deadline=None, derandomize=True)


def picture(height: int = 5, width: int = 7, channels: int = 3, dtype: str = "uint8") -> Any:
    rng = np.random.default_rng(height * 100 + width)
    values = rng.integers(0, 256, (height, width, channels))
    if np.dtype(dtype).kind == "f":
        return (values / 255).astype(dtype)
    return values.astype(dtype)


def through_map(function: Any, image: Any, count: int = 40) -> list[Any]:
    """What a function gives for the same image, many times over, inside a pipeline."""
    ds = ps.Dataset.from_tensors(image).repeat(count).map(function)
    with ds.iterate(seed=1) as it:
        return [np.array(x) for x in it]


@pytest.mark.parametrize("saturate", [False, True])
@pytest.mark.parametrize("to", DTYPES)
@pytest.mark.parametrize("of", DTYPES)
def test_convert_image_dtype(of: str, to: str, saturate: bool, theirs: Words) -> None:
    image = picture(dtype=of)
    with np.errstate(over="ignore"):  # TensorFlow's own, when it works out the limits of a dtype
        expected = theirs.image.convert_image_dtype(image, to, saturate=saturate).numpy()
    got = ps.image.convert_image_dtype(image, to, saturate=saturate)
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-6 if to != "float16" else 1e-3)


@pytest.mark.parametrize("k", [-1, 0, 1, 2, 3, 4, 5])
def test_rot90(k: int, theirs: Words) -> None:
    for image in (picture(), np.stack([picture(), picture()])):
        np.testing.assert_array_equal(ps.image.rot90(image, k), theirs.image.rot90(image, k))


@quickly
@given(
    height=st.integers(1, 12),
    width=st.integers(1, 12),
    to=st.tuples(st.integers(1, 20), st.integers(1, 20)),
    method=st.sampled_from(["bilinear", "nearest"]),
    dtype=st.sampled_from(["uint8", "float32"]),
)
def test_resize(theirs: Words, height: int, width: int, to: tuple[int, int], method: str, dtype: str) -> None:
    image = picture(height, width, dtype=dtype)
    expected = theirs.image.resize(image, to, method=method).numpy()
    got = ps.image.resize(image, to, method=method)
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("method", ["bilinear", "nearest"])
@pytest.mark.parametrize("size", [(10, 4), (3, 20)])
def test_resize_keeping_the_aspect_ratio(method: str, size: tuple[int, int], theirs: Words) -> None:
    image = picture(6, 9)
    expected = theirs.image.resize(image, size, method=method, preserve_aspect_ratio=True).numpy()
    got = ps.image.resize(image, size, method=method, preserve_aspect_ratio=True)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-4)


@quickly
@given(
    height=st.integers(1, 30),
    width=st.integers(1, 30),
    to=st.tuples(st.integers(1, 20), st.integers(1, 20)),
    method=st.sampled_from(["bilinear", "nearest"]),
    dtype=st.sampled_from(["uint8", "float32"]),
)
def test_resize_with_antialias(
    theirs: Words, height: int, width: int, to: tuple[int, int], method: str, dtype: str
) -> None:
    image = picture(height, width, dtype=dtype)
    expected = theirs.image.resize(image, to, method=method, antialias=True).numpy()
    got = ps.image.resize(image, to, method=method, antialias=True)
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-3)


def test_resize_of_a_batch(theirs: Words) -> None:
    images = np.stack([picture(), picture() // 2])
    expected = theirs.image.resize(images, (9, 4)).numpy()
    np.testing.assert_allclose(ps.image.resize(images, (9, 4)), expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("axis", ["left_right", "up_down"])
def test_random_flip_gives_what_tf_image_may_give(axis: str, theirs: Words) -> None:
    image = picture()
    flipped = getattr(theirs.image, f"flip_{axis}")(image).numpy()
    got = through_map(getattr(ps.image, f"random_flip_{axis}"), image)
    kinds = {"flipped" if np.array_equal(x, flipped) else "kept" for x in got}
    assert kinds == {"flipped", "kept"}
    assert all(np.array_equal(x, flipped) or np.array_equal(x, image) for x in got)
    assert 5 < sum(np.array_equal(x, flipped) for x in got) < 35


def test_random_crop_gives_windows_of_the_image() -> None:
    image = picture()
    windows = {image[i : i + 3, j : j + 4].tobytes(): (i, j) for i in range(3) for j in range(4)}
    got = through_map(lambda x: ps.image.random_crop(x, (3, 4, 3)), image, 200)
    assert {windows[x.tobytes()] for x in got} == set(windows.values())


def test_random_crop_refuses_what_does_not_fit(theirs: Words) -> None:
    with pytest.raises(Exception):  # noqa: B017 - which class it is, is TensorFlow's own affair
        theirs.image.random_crop(picture(), (6, 4, 3))
    with pytest.raises(ps.errors.PenstockError):
        through_map(lambda x: ps.image.random_crop(x, (6, 4, 3)), picture())


@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_random_brightness_adds_one_delta_as_tf_image_does(dtype: str, theirs: Words) -> None:
    image = picture(dtype=dtype)
    if dtype == "uint8":
        image = image // 2 + 60  # nothing saturates, so that the delta can be read off
    got = through_map(lambda x: ps.image.random_brightness(x, 0.2), image)
    deltas = []
    for x in got:
        assert x.dtype == image.dtype
        scale = 1.0 if dtype == "float32" else 255.0
        delta = float((x.astype("float64") - image.astype("float64")).mean()) / scale
        deltas.append(delta)
        expected = theirs.image.adjust_brightness(image, delta).numpy()
        np.testing.assert_allclose(
            x.astype("float64"), expected.astype("float64"), atol=1e-5 if scale == 1 else 1
        )
    assert -0.21 <= min(deltas) < -0.1 < 0.1 < max(deltas) <= 0.21


@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_random_contrast_scales_around_the_mean_as_tf_image_does(dtype: str, theirs: Words) -> None:
    image = picture(dtype=dtype)
    got = through_map(lambda x: ps.image.random_contrast(x, 0.5, 0.9), image)
    wide = image.astype("float64")
    mean = wide.mean(axis=(0, 1))
    factors = []
    for x in got:
        assert x.dtype == image.dtype
        spread = wide - mean
        factor = float(((x - mean) * spread).sum() / (spread * spread).sum())
        factors.append(factor)
        expected = theirs.image.adjust_contrast(image, factor).numpy()
        np.testing.assert_allclose(
            x.astype("float64"), expected.astype("float64"), atol=1e-4 if dtype == "float32" else 2
        )
    assert 0.49 <= min(factors) < 0.6 < 0.8 < max(factors) <= 0.91


@pytest.mark.parametrize(
    "wrong",
    [
        lambda image: image.random_contrast(picture(), 0.9, 0.5),
        lambda image: image.random_contrast(picture(), -0.1, 0.5),
        lambda image: image.random_brightness(picture(), -0.1),
        lambda image: image.resize(picture(), (3,)),
        lambda image: image.resize(picture(), (3, 3), method="wobbly"),
        lambda image: image.resize(picture()[0, 0], (3, 3)),
        lambda image: image.rot90(picture()[0, 0]),
    ],
)
def test_wrong_arguments_are_refused_by_both(wrong: Any, theirs: Words) -> None:
    with pytest.raises(Exception):  # noqa: B017 - which class it is, is TensorFlow's own affair
        wrong(theirs.image)
    with pytest.raises((ps.errors.PenstockError, ValueError, TypeError)):
        wrong(ps.image)
