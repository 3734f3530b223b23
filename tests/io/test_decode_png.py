"""`ps.io.decode_png`."""

from __future__ import annotations

import struct
import tracemalloc
import zlib
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import drain, same
from contract.pictures import chunk, jpeg, photo, png, pngs
from contract.ways import why_row_by_row

decode = ps.io.decode_png
EXPECTED = r"ps\.io\.decode_png: expected"


def samples(colour_samples: int, depth: int, height: int = 11, width: int = 13) -> Any:
    return np.random.default_rng(depth).integers(0, 1 << depth, (height, width, colour_samples))


@pytest.mark.parametrize("interlaced", [False, True])
@pytest.mark.parametrize(("colour", "each"), [(0, 1), (2, 3), (4, 2), (6, 4)])
def test_given_whole_bytes_then_the_samples_come_back(colour: int, each: int, interlaced: bool) -> None:
    rng = np.random.default_rng(1)
    for depth, dtype in ((8, np.uint8), (16, np.uint16)):
        image = samples(each, depth)
        got = decode(png(image, depth, colour, interlaced=interlaced, filters=rng, pieces=3), dtype=dtype)
        assert got.dtype == dtype
        assert np.array_equal(got, image)


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_given_few_bits_then_white_is_white(depth: int) -> None:
    image = samples(1, depth)
    assert np.array_equal(decode(png(image, depth, 0)), image * (255 // (2**depth - 1)))


@pytest.mark.parametrize("depth", [1, 2, 4, 8])
def test_given_a_palette_then_its_colours_come(depth: int) -> None:
    colours = np.random.default_rng(2).integers(0, 256, (1 << depth, 3), np.uint8)
    numbers = samples(1, depth)
    contents = png(numbers, depth, 3, palette=colours.tobytes())
    assert np.array_equal(decode(contents), colours[numbers[..., 0]])
    hidden = png(numbers, depth, 3, palette=colours.tobytes(), transparent=b"\x07")
    got = decode(hidden)
    assert np.array_equal(got[..., 3], np.where(numbers[..., 0] == 0, 7, 255))
    assert np.array_equal(decode(hidden, channels=3), got[..., :3])


def test_given_a_number_beyond_the_palette_then_it_is_black() -> None:
    contents = png(np.full((2, 2, 1), 3), 2, 3, palette=b"\xff" * 6)
    assert not decode(contents).any()


@pytest.mark.parametrize("depth", [4, 8, 16])
def test_given_a_transparent_grey_then_its_alpha_is_nothing(depth: int) -> None:
    image = samples(1, depth)
    contents = png(image, depth, 0, transparent=struct.pack(">H", int(image[2, 3, 0])))
    assert decode(contents).shape == (11, 13, 1)
    got = decode(contents, channels=4)
    assert np.array_equal(got[..., 3], np.where(image[..., 0] == image[2, 3, 0], 0, 255))


def test_given_other_bits_then_the_scale_is_kept() -> None:
    image = samples(3, 16)
    assert np.array_equal(decode(png(image, 16)), image >> 8)
    image = samples(3, 8)
    assert np.array_equal(decode(png(image), dtype=np.uint16), image * 257)


def test_given_channels_then_colours_grey_and_alpha_are_made() -> None:
    grey = samples(1, 8)
    assert np.array_equal(decode(png(grey, 8, 0), channels=3), np.repeat(grey, 3, axis=2))
    assert (decode(png(grey, 8, 0), channels=4)[..., 3] == 255).all()
    colour = np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255], [9, 9, 9]]])
    # Luma: 0.299, 0.587 and 0.114, rounded down.
    assert decode(png(colour), channels=1).ravel().tolist() == [76, 149, 29, 9]
    both = samples(4, 8)
    assert np.array_equal(decode(png(both, 8, 6), channels=3), both[..., :3])


# Bad input


def test_given_a_png_cut_short_anywhere_then_it_is_a_data_error() -> None:
    contents = png(samples(3, 8))
    for size in range(len(contents)):
        with pytest.raises(ps.errors.DataError, match=EXPECTED):
            decode(contents[:size])


@pytest.mark.parametrize("colour", [2, 3])
def test_given_a_damaged_byte_then_it_is_a_data_error_or_makes_no_difference(colour: int) -> None:
    image = samples(3 if colour == 2 else 1, 8)
    palette = np.random.default_rng(1).bytes(768) if colour == 3 else b""
    contents = png(image, 8, colour, palette=palette, filters=np.random.default_rng(0))
    expected = decode(contents)
    harmless = 0
    for at in range(len(contents)):
        damaged = bytearray(contents)
        damaged[at] ^= 0x41
        try:
            assert np.array_equal(decode(bytes(damaged)), expected)
            harmless += 1
        except ps.errors.DataError as error:
            assert str(error).startswith("ps.io.decode_png: expected")
    assert 0 < harmless < 40  # the comment, which is not looked at


def test_given_mutated_pngs_with_checksums_then_pixels_come_or_a_data_error() -> None:
    rng = np.random.default_rng(3)
    sources = [contents for _, contents in pngs()]
    outcomes = {"pixels": 0, "error": 0}
    for _ in range(2000):
        contents = bytearray(sources[int(rng.integers(len(sources)))])
        for _ in range(int(rng.integers(1, 4))):
            contents[int(rng.integers(8, len(contents)))] = int(rng.integers(256))
        try:
            got = decode(signed(bytes(contents)), channels=int(rng.choice([0, 1, 3, 4])))
            assert got.ndim == 3
            outcomes["pixels"] += 1
        except ps.errors.DataError:
            outcomes["error"] += 1
    assert min(outcomes.values()) > 100


def signed(contents: bytes) -> bytes:
    """A PNG whose checksums are right again, so that damage reaches what lies behind them."""
    parts, at = [contents[:8]], 8
    while at + 12 <= len(contents):
        (length,) = struct.unpack_from(">I", contents, at)
        if at + 12 + length > len(contents):
            break
        parts.append(chunk(contents[at + 4 : at + 8], contents[at + 8 : at + 8 + length]))
        at += 12 + length
    return b"".join(parts) + contents[at:]


def of_size(width: int, height: int, pixels: bytes) -> bytes:
    size = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", size)
        + chunk(b"IDAT", zlib.compress(pixels))
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize(
    ("size", "what"),
    [
        ((2**31 - 1, 2**31 - 1), "at most 512 MiB"),
        ((60000, 60000), "at most 512 MiB"),
        ((10000, 10000), r"expected at least \d+ bytes"),
        ((0, 5), "with pixels"),
    ],
)
def test_given_an_absurd_size_then_it_is_refused_before_anything_is_allocated(size: Any, what: str) -> None:
    contents = of_size(*size, bytes(1000))
    tracemalloc.start()
    try:
        with pytest.raises(ps.errors.DataError, match=what):
            decode(contents)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_given_a_bomb_then_no_more_is_unpacked_than_the_size_needs() -> None:
    contents = of_size(4, 4, bytes(64 << 20))
    tracemalloc.start()
    try:
        assert not decode(contents).any()
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("contents", [b"", b"\xff\xd8\xff\xe0", b"\x89PNG\r\n\x1a\n"])
def test_given_no_png_then_the_error_says_what_came(contents: bytes) -> None:
    with pytest.raises(ps.errors.DataError, match=EXPECTED):
        decode(contents)


def test_given_a_jpeg_then_it_is_decoded_too() -> None:
    contents = jpeg(24, 32)
    expected = ps.io.decode_jpeg(contents)
    assert np.array_equal(decode(contents), expected)
    assert np.array_equal(
        decode(contents, dtype=np.uint16), ps.image.convert_image_dtype(expected, np.uint16)
    )
    got = list(ps.Dataset.from_tensor_slices([png(photo(24, 32)), contents]).map(decode))
    assert np.array_equal(got[0], photo(24, 32))
    assert np.array_equal(got[1], expected)
    with pytest.raises(ps.errors.DataError, match=EXPECTED + " at most 3 channels of a JPEG"):
        decode(contents, channels=4)


@pytest.mark.parametrize("how", [{"channels": 2}, {"channels": -1}, {"dtype": np.float32}])
def test_given_a_wrong_argument_then_the_error_names_it(how: Any) -> None:
    (name,) = how
    kinds = (ps.errors.ArgumentError, ps.errors.ArgumentTypeError)
    with pytest.raises(kinds, match=rf"decode_png\({name}=\): expected"):
        decode(png(samples(3, 8)), **how)


# Over blocks


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("heights", [[9] * 8, [9, 5, 9, 7, 9, 9, 2, 9]])
def test_given_a_block_then_the_bits_are_those_of_a_call_a_row(heights: list[int], dtype: Any) -> None:
    contents = [png(photo(height, 12, seed)) for seed, height in enumerate(heights)]
    source = ps.Dataset.from_tensor_slices(np.array(contents, object))
    over = source.map(lambda x: decode(x, dtype=dtype))
    assert why_row_by_row(over) == ""
    assert same(drain(over), [decode(each, dtype=dtype) for each in contents])
