"""`ps.image`: the same bits over a block as row by row, and the numbers of tf.image."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import drain, same
from contract.ways import why_row_by_row

SHAPES = {"grey": (8, 6), "colour": (8, 6, 3), "stack": (2, 8, 6, 3), "large": (70, 80, 3)}


def images(shape: str, dtype: str, count: int = 30) -> Any:
    values = np.random.default_rng(3).integers(0, 256, (count, *SHAPES[shape]))
    return (values / 255).astype(dtype) if dtype == "float32" else values.astype(dtype)


def cropped(x: Any) -> Any:
    return ps.image.random_crop(x, (*x.shape[:-3], *((7, 4, 2) if x.ndim > 2 else (7, 4))))


def cropped_in_width(x: Any) -> Any:
    size = list(x.shape)
    size[-1 if x.ndim == 2 else -2] -= 2
    return ps.image.random_crop(x, tuple(size))


FUNCTIONS: dict[str, Any] = {
    "random_flip_left_right": ps.image.random_flip_left_right,
    "random_flip_up_down": ps.image.random_flip_up_down,
    "flip_left_right": ps.image.flip_left_right,
    "flip_up_down": ps.image.flip_up_down,
    "rot90": lambda x: ps.image.rot90(x, 3),
    "random_crop": cropped,
    "random_crop in width": cropped_in_width,
    "random_brightness": lambda x: ps.image.random_brightness(x, 0.3),
    "random_contrast": lambda x: ps.image.random_contrast(x, 0.5, 1.5),
    "resize": lambda x: ps.image.resize(x, (5, 9)),
    "resize antialias": lambda x: ps.image.resize(x, (3, 4), antialias=True),
    "resize nearest": lambda x: ps.image.resize(x, (11, 3), method="nearest"),
    "to float": lambda x: ps.image.convert_image_dtype(x, np.float32),
    "to int16": lambda x: ps.image.convert_image_dtype(x, np.int16, saturate=True),
    "all": lambda x: ps.image.random_flip_left_right(
        ps.image.random_brightness(ps.image.convert_image_dtype(cropped(x), np.float32), 0.1)
    ),
}


def by_row(function: Any) -> Any:
    """The same function, called row by row because it branches on its element."""
    return lambda x: function(x) if x.sum() >= 0 else x


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_given_images_then_the_bits_are_those_of_a_call_a_row(name: str, shape: str, dtype: str) -> None:
    source = ps.Dataset.from_tensor_slices(images(shape, dtype))
    over, plain = source.map(FUNCTIONS[name]), source.map(by_row(FUNCTIONS[name]))
    assert over.op.spec is not None, over.op.ways()
    assert plain.op.spec is None
    assert why_row_by_row(over) == ""
    assert same(drain(over), drain(plain))


@pytest.mark.parametrize("size", [(90, 70, 3), (100, 70, 3), (90, 80, 3), (90, 70, 2)])
def test_given_large_images_then_each_is_cut_where_a_call_a_row_cuts_it(size: Any) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (20, 100, 80, 3), np.uint8)
    source = ps.Dataset.from_tensor_slices(pixels)
    function = lambda x: ps.image.random_crop(x, size)  # noqa: E731
    assert why_row_by_row(source.map(function)) == ""
    got = drain(source.map(function))
    assert same(got, drain(source.map(by_row(function))))
    assert len({one.tobytes() for one in got}) == 20


def rows(function: Any, count: int = 200) -> list[Any]:
    """What the function gives for one image, `count` times over, and that image."""
    image = images("colour", "uint8", 1)[0]
    ds = ps.Dataset.from_tensor_slices(np.broadcast_to(image, (count, *image.shape))).map(function)
    return [image, drain(ds)]


@pytest.mark.parametrize("axis", [0, 1])
def test_given_a_random_flip_then_about_half_are_flipped(axis: int) -> None:
    function = (ps.image.random_flip_up_down, ps.image.random_flip_left_right)[axis]
    image, got = rows(function)
    flipped = sum(np.array_equal(x, np.flip(image, axis)) for x in got)
    kept = sum(np.array_equal(x, image) for x in got)
    assert flipped + kept == 200
    assert 70 < flipped < 130


def test_given_a_stack_then_each_image_is_flipped_by_itself() -> None:
    stack = images("colour", "uint8", 60)
    (got,) = drain(ps.Dataset.from_tensor_slices(stack[None]).map(ps.image.random_flip_left_right))
    kinds = {
        "kept" if np.array_equal(x, y) else "flipped"
        for x, y in zip(got, stack, strict=True)
        if np.array_equal(x, y) or np.array_equal(x, y[:, ::-1])
    }
    assert kinds == {"kept", "flipped"}


def test_given_a_random_crop_then_every_window_comes() -> None:
    image, got = rows(lambda x: ps.image.random_crop(x, (7, 5, 3)))
    places = [(i, j) for i in range(2) for j in range(2)]
    windows = {image[i : i + 7, j : j + 5].tobytes(): (i, j) for i, j in places}
    assert {windows[x.tobytes()] for x in got} == set(places)


def test_given_a_crop_of_the_whole_then_it_is_the_image() -> None:
    image, got = rows(lambda x: ps.image.random_crop(x, (8, 6, 3)), 3)
    assert all(np.array_equal(x, image) for x in got)


@pytest.mark.parametrize(
    ("given", "dtype", "saturate", "expected"),
    [
        (np.array([0, 51, 255], np.uint8), np.float32, False, [0, 0.2, 1]),
        (np.array([-127, 127], np.int8), np.float64, False, [-1, 1]),
        (np.array([0, 0.2, 0.999, 1], np.float32), np.uint8, False, [0, 51, 255, 255]),
        (np.array([-1, 2], np.float32), np.uint8, True, [0, 255]),
        (np.array([0, 255], np.uint8), np.int16, False, [0, 255 * 128]),
        (np.array([0, 32767], np.int16), np.uint8, False, [0, 255]),
        (np.array([-5, 32767], np.int16), np.uint8, True, [0, 255]),
        (np.array([2.0], np.float32), np.int32, True, [2147483520]),
        (np.array([1, 2], np.uint8), np.uint8, False, [1, 2]),
        (np.array([0.5], np.float32), np.float64, False, [0.5]),
    ],
)
def test_given_dtypes_then_the_scale_is_that_of_tf_image(
    given: Any, dtype: Any, saturate: bool, expected: list[float]
) -> None:
    got = ps.image.convert_image_dtype(given[None], dtype, saturate=saturate)
    assert got.dtype == dtype
    np.testing.assert_allclose(got[0], np.array(expected, dtype), rtol=1e-6)


def test_given_known_images_then_resize_gives_what_tf_image_gives() -> None:
    image = np.array([[0.0, 10.0], [20.0, 30.0]], np.float32)
    # From tf.image.resize of TensorFlow 2.21.
    expected = [[0, 2.5, 7.5, 10], [10, 12.5, 17.5, 20], [20, 22.5, 27.5, 30]]
    np.testing.assert_allclose(ps.image.resize(image, (3, 4)), expected)
    nearest = ps.image.resize(image.astype(np.uint8), (3, 4), method="nearest")
    assert nearest.tolist() == [[0, 0, 10, 10], [20, 20, 30, 30], [20, 20, 30, 30]]
    assert ps.image.resize(image, (10, 4), preserve_aspect_ratio=True).shape == (4, 4)
    stripes = np.array([[0, 0, 0, 80, 0, 0]], np.float32)
    assert ps.image.resize(stripes, (1, 2)).tolist() == [[0, 0]]
    np.testing.assert_allclose(ps.image.resize(stripes, (1, 2), antialias=True), [[10, 20]], rtol=1e-6)


def test_given_a_contrast_then_each_channel_is_scaled_around_its_mean() -> None:
    image = np.array([[[0, 10], [2, 30]]], np.float32)
    got = ps.image.adjust_contrast(image, 2.0)
    assert got.tolist() == [[[-1, 0], [3, 40]]]


def test_given_whole_numbers_then_brightness_stays_in_range() -> None:
    image = np.array([[0, 100, 250]], np.uint8)
    assert ps.image.adjust_brightness(image, 0.1).tolist() == [[25, 125, 255]]
    assert ps.image.adjust_brightness(image, -0.5).tolist() == [[0, 0, 122]]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x: ps.image.random_crop(x, (9, 6, 3)),
        lambda x: ps.image.random_crop(x, (8, 6)),
        lambda x: ps.image.resize(x, (3,)),
        lambda x: ps.image.resize(x, (3, 0)),
        lambda x: ps.image.resize(x, (3, 3), method="wobbly"),
        lambda x: ps.image.resize(x[0, 0], (3, 3)),
        lambda x: ps.image.rot90(x[0, 0]),
        lambda x: ps.image.random_brightness(x, -0.1),
        lambda x: ps.image.random_contrast(x, 0.9, 0.5),
        lambda x: ps.image.convert_image_dtype(x, np.complex64),
    ],
)
def test_given_a_wrong_argument_then_the_error_names_the_function(wrong: Any) -> None:
    image = images("colour", "uint8", 2)
    with pytest.raises((ps.errors.ArgumentError, ps.errors.ArgumentTypeError), match=r"ps\.image\."):
        wrong(image[0])
    with pytest.raises(ps.errors.FunctionError, match=r"element 0: .*ps\.image\."):
        list(ps.Dataset.from_tensor_slices(image).map(wrong))


@pytest.mark.parametrize("size", [2, (2,), (2.5, 2), (0, 2), "ab", None])
def test_given_no_height_and_width_then_resize_says_what_it_expects(size: Any) -> None:
    with pytest.raises(ps.errors.ArgumentError, match=r"resize\(size=\): expected a height and a width"):
        ps.image.resize(np.zeros((2, 2)), size)


def test_given_a_random_function_outside_a_map_then_the_error_shows_how_to_seed_it() -> None:
    with pytest.raises(ps.errors.ArgumentError, match=r"random_flip_left_right\(image, seed=1\)"):
        ps.image.random_flip_left_right(np.zeros((2, 2)))
