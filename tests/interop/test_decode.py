"""`ps.io.decode_*` against the real tf.io, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.pictures import BASELINE, CMYK, PROGRESSIVE, RESTARTS, bmp, jpeg, photo, png, pngs, turned
from interop.words import Words

JPEGS = {
    "4:2:0": jpeg(61, 83),
    "4:2:2": jpeg(61, 83, sampling="422"),
    "4:4:4": jpeg(61, 83, sampling="444"),
    "4:4:0": jpeg(61, 83, sampling="440"),
    "coarse": jpeg(61, 83, quality=20),
    "baseline": BASELINE,
    "progressive": PROGRESSIVE,
    "with restarts": RESTARTS,
    "inks": CMYK,
    "turned": turned(BASELINE),
    "padded": BASELINE[:-2] + bytes(9) + BASELINE[-2:],
}


@pytest.fixture(scope="session")
def tf_io(theirs: Words) -> Any:
    import tensorflow

    return tensorflow.io


@pytest.mark.parametrize("name", JPEGS)
def test_decode_jpeg(name: str, tf_io: Any) -> None:
    contents = JPEGS[name]
    assert ps.io.extract_jpeg_shape(contents).tolist() == tf_io.extract_jpeg_shape(contents).numpy().tolist()
    for channels in (0, 3) if name == "inks" else (0, 1, 3):
        for how in (
            {},
            {"dct_method": "INTEGER_ACCURATE"},
            {"fancy_upscaling": False},
            {"ratio": 2},
            {"ratio": 8},
        ):
            expected = tf_io.decode_jpeg(contents, channels=channels, **how).numpy()
            got = ps.io.decode_jpeg(contents, channels=channels, **how)
            assert got.dtype == expected.dtype
            np.testing.assert_array_equal(got, expected, err_msg=f"{channels} {how}")


@pytest.mark.parametrize("name", JPEGS)
def test_decode_and_crop_jpeg(name: str, tf_io: Any) -> None:
    for window, ratio in (((5, 7, 20, 30), 1), ((0, 0, 17, 1), 1), ((3, 2, 9, 11), 2)):
        expected = tf_io.decode_and_crop_jpeg(JPEGS[name], window, ratio=ratio).numpy()
        got = ps.io.decode_and_crop_jpeg(JPEGS[name], window, ratio=ratio)
        assert got.shape == expected.shape == (*window[2:], got.shape[2])
        # TensorFlow smooths colours at the window's edge with less than the whole image would give.
        inner = (slice(None), slice(2, -2)) if got.shape[1] > 4 else (slice(None), slice(0, 0))
        np.testing.assert_array_equal(got[inner], expected[inner])
        whole = tf_io.decode_jpeg(JPEGS[name], ratio=ratio).numpy()
        top, left, rows, columns = window
        np.testing.assert_array_equal(got, whole[top : top + rows, left : left + columns])


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
@pytest.mark.parametrize("channels", [0, 1, 3, 4])
def test_decode_png(channels: int, dtype: str, tf_io: Any) -> None:
    for name, contents in pngs():
        expected = tf_io.decode_png(contents, channels=channels, dtype=dtype).numpy()
        got = ps.io.decode_png(contents, channels=channels, dtype=dtype)
        assert got.dtype == expected.dtype
        if channels == 4 and any(f" {bits} bits" in name for bits in (1, 2, 4)) and "transparent" not in name:
            # On purpose: what has no alpha is opaque. TensorFlow makes it 1, 3 or 15 of 255.
            assert (got[..., 3] == np.iinfo(dtype).max).all()
            got, expected = got[..., :3], expected[..., :3]
        np.testing.assert_array_equal(got, expected, err_msg=name)


def test_given_a_picture_of_the_other_kind_then_both_decode_it(tf_io: Any) -> None:
    deep = png(np.random.default_rng(0).integers(0, 1 << 16, (5, 6, 3)), 16)
    for contents in (png(photo(5, 6)), deep, png(photo(5, 6)[..., :1], 8, 0)):
        for channels, ratio in ((0, 1), (1, 1), (3, 2)):
            expected = tf_io.decode_jpeg(contents, channels=channels, ratio=ratio).numpy()
            np.testing.assert_array_equal(ps.io.decode_jpeg(contents, channels, ratio), expected)
    for dtype in ("uint8", "uint16"):
        for channels in (0, 1, 3):
            expected = tf_io.decode_png(BASELINE, channels=channels, dtype=dtype).numpy()
            np.testing.assert_array_equal(ps.io.decode_png(BASELINE, channels, dtype), expected)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
def test_decode_image(dtype: str, tf_io: Any) -> None:
    deep = png(np.random.default_rng(0).integers(0, 1 << 16, (5, 6, 3)), 16)
    grey = png(photo(5, 6)[..., :1], 8, 0)
    for contents in (BASELINE, png(photo(5, 6)), deep, grey, bmp(photo(5, 6)), bmp(photo(5, 7)[..., :1])):
        for channels in (0, 3):
            expected = tf_io.decode_image(contents, channels=channels, dtype=dtype).numpy()
            got = ps.io.decode_image(contents, channels, dtype)
            assert got.dtype == expected.dtype
            np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_given_bad_jpegs_then_both_refuse_them(tf_io: Any) -> None:
    for contents in (b"", b"hello", BASELINE[:-30], BASELINE[:100], CMYK[:-100]):
        with pytest.raises(ps.errors.DataError):
            ps.io.decode_jpeg(contents)
        with pytest.raises(Exception, match=r"(?i)jpeg|input is empty|image file format"):
            tf_io.decode_jpeg(contents)


def test_given_mutated_jpegs_then_what_both_decode_is_the_same(tf_io: Any) -> None:
    rng = np.random.default_rng(2)
    compared = 0
    for _ in range(300):
        contents = bytearray(JPEGS["4:2:0"])
        contents[int(rng.integers(len(contents)))] = int(rng.integers(256))
        try:
            got = ps.io.decode_jpeg(bytes(contents))
            expected = tf_io.decode_jpeg(bytes(contents)).numpy()
        except Exception:  # one of them is stricter
            continue
        np.testing.assert_array_equal(got, expected)
        compared += 1
    assert compared > 30
