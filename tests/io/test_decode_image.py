"""`ps.io.decode_image`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import drain, same
from contract.pictures import BASELINE, bmp, photo, png
from contract.ways import why_row_by_row

decode = ps.io.decode_image


def test_given_each_kind_then_it_is_found_out() -> None:
    image = photo(7, 9)
    assert np.array_equal(decode(png(image)), image)
    assert np.array_equal(decode(bmp(image)), image)
    assert np.array_equal(decode(BASELINE), ps.io.decode_jpeg(BASELINE))


@pytest.mark.parametrize("from_above", [False, True])
@pytest.mark.parametrize("each", [1, 3, 4])
def test_given_a_bmp_then_its_pixels_come_back(each: int, from_above: bool) -> None:
    image = np.random.default_rng(each).integers(0, 256, (7, 9, each), np.uint8)
    contents = bmp(image, from_above=from_above)
    assert np.array_equal(decode(contents), image)
    assert np.array_equal(
        decode(contents, channels=3), np.repeat(image, 3, 2) if each == 1 else image[..., :3]
    )
    got = decode(contents, channels=4)
    assert np.array_equal(got[..., 3], image[..., 3] if each == 4 else np.full((7, 9), 255))


def test_given_a_dtype_then_all_the_bits_there_are_come() -> None:
    image = np.random.default_rng(0).integers(0, 1 << 16, (4, 5, 3))
    assert np.array_equal(decode(png(image, 16), dtype=np.uint16), image)
    floats = decode(png(image, 16), dtype=np.float32)
    assert floats.dtype == np.float32
    np.testing.assert_allclose(floats, image / 65535, rtol=1e-6)
    np.testing.assert_allclose(decode(bmp(photo(3, 4)), dtype=np.float32), photo(3, 4) / 255, rtol=1e-6)


@pytest.mark.parametrize(("contents", "kind"), [(b"GIF89a" + bytes(9), "GIF"), (b"RIFF1234WEBPVP8 ", "WebP")])
def test_given_a_kind_that_is_not_decoded_then_the_error_names_it(contents: bytes, kind: str) -> None:
    with pytest.raises(ps.errors.DataError, match=f"expected a JPEG, a PNG or a BMP, got a {kind}. Convert"):
        ps.io.decode_image(contents)


@pytest.mark.parametrize(
    "contents", [b"", b"GIF89a" + bytes(20), b"BM", bmp(photo(4, 4))[:-1], bmp(photo(4, 4))[:50]]
)
def test_given_what_it_cannot_read_then_it_is_a_data_error(contents: bytes) -> None:
    with pytest.raises(ps.errors.DataError, match=r"ps\.io\.decode_image: expected"):
        decode(contents)


def test_given_a_bmp_with_colours_in_a_palette_then_it_is_refused() -> None:
    contents = bytearray(bmp(photo(4, 4)[..., :1]))
    contents[54] = 200
    with pytest.raises(ps.errors.DataError, match="with a palette"):
        decode(bytes(contents))


@pytest.mark.parametrize("how", [{"channels": 2}, {"dtype": np.int8}])
def test_given_a_wrong_argument_then_the_error_names_it(how: Any) -> None:
    (name,) = how
    kinds = (ps.errors.ArgumentError, ps.errors.ArgumentTypeError)
    with pytest.raises(kinds, match=rf"decode_image\({name}=\): expected"):
        decode(BASELINE, **how)


def test_given_alpha_of_a_jpeg_then_it_is_a_data_error() -> None:
    with pytest.raises(ps.errors.DataError, match="no alpha"):
        decode(BASELINE, channels=4)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_given_a_block_of_several_kinds_then_the_bits_are_those_of_a_call_a_row(dtype: Any) -> None:
    contents = [png(photo(7, 9)), bmp(photo(5, 4)), BASELINE, png(photo(7, 9, 3))] * 2
    ds = ps.Dataset.from_tensor_slices(np.array(contents, object)).map(lambda x: decode(x, 3, dtype))
    assert why_row_by_row(ds) == ""
    assert same(drain(ds), [decode(each, 3, dtype) for each in contents])
