"""`ps.io.decode_jpeg`, `decode_and_crop_jpeg` and `extract_jpeg_shape`."""

from __future__ import annotations

import sys
import threading
import tracemalloc
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import drain, same
from contract.pictures import BASELINE, CMYK, PROGRESSIVE, RESTARTS, jpeg, photo, png, turned, with_size
from contract.ways import why_row_by_row
from penstock.image.codecs.jpeg import Jpeg, JpegOptions
from penstock.image.codecs.rows import fill

SAMPLINGS = ["444", "422", "420", "440", "Gray"]
decode, crop, shape_of = ps.io.decode_jpeg, ps.io.decode_and_crop_jpeg, ps.io.extract_jpeg_shape


def grey_jpeg(height: int, width: int, seed: int = 0) -> bytes:
    import simplejpeg

    picture = photo(height, width, seed)[..., :1].copy()
    return bytes(simplejpeg.encode_jpeg(picture, colorspace="GRAY", colorsubsampling="Gray"))


def test_given_a_fine_jpeg_then_its_pixels_are_close_to_the_picture() -> None:
    got = decode(jpeg(60, 80, quality=98, sampling="444"), dct_method="INTEGER_ACCURATE")
    assert got.dtype == np.uint8
    assert np.abs(got.astype(int) - photo(60, 80)).mean() < 2


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("ratio", [1, 2, 4, 8])
def test_given_a_window_then_its_pixels_are_those_of_the_whole(sampling: str, ratio: int) -> None:
    rng = np.random.default_rng(ratio)
    contents = grey_jpeg(117, 141) if sampling == "Gray" else jpeg(117, 141, sampling=sampling)
    whole = decode(contents, ratio=ratio)
    height, width, channels = whole.shape
    assert (height, width) == (-(-117 // ratio), -(-141 // ratio))
    assert channels == (1 if sampling == "Gray" else 3)
    for rows in range(1, height + 1):
        columns = int(rng.integers(1, width + 1))
        top, left = int(rng.integers(0, height - rows + 1)), int(rng.integers(0, width - columns + 1))
        got = crop(contents, (top, left, rows, columns), ratio=ratio)
        assert np.array_equal(got, whole[top : top + rows, left : left + columns]), (top, left, rows, columns)


@pytest.mark.parametrize("contents", [PROGRESSIVE, RESTARTS], ids=["progressive", "restarts"])
def test_given_another_coding_of_the_same_picture_then_pixels_and_windows_are_the_same(
    contents: bytes,
) -> None:
    assert np.array_equal(decode(contents), decode(BASELINE))
    assert np.array_equal(crop(contents, (5, 6, 11, 12)), crop(BASELINE, (5, 6, 11, 12)))


def test_given_a_window_then_what_lies_below_it_is_not_decoded() -> None:
    contents = jpeg(160, 160)
    middle = len(contents) * 3 // 4
    damaged = contents[:middle] + b"\xff\x00" * 300 + contents[-2:]  # nothing is coded as all ones
    with pytest.raises(ps.errors.DataError, match="Corrupt"):
        decode(damaged)
    assert np.array_equal(crop(damaged, (0, 0, 48, 160)), decode(contents)[:48])


def test_given_a_camera_held_on_its_side_then_the_picture_is_not_turned() -> None:
    assert np.array_equal(decode(turned(BASELINE)), decode(BASELINE))


def test_given_inks_then_they_become_red_green_and_blue() -> None:
    assert shape_of(CMYK).tolist() == [40, 52, 4]
    got = decode(CMYK)
    assert got.shape == (40, 52, 3)
    # The same picture, once through inks and once not: both lose a little.
    assert np.abs(got.astype(int) - decode(BASELINE)).mean() < 6
    assert np.array_equal(crop(CMYK, (3, 4, 20, 21)), got[3:23, 4:25])
    with pytest.raises(ps.errors.DataError, match="CMYK"):
        decode(CMYK, channels=1)


def test_given_channels_then_grey_and_colour_become_each_other() -> None:
    colour, grey = jpeg(20, 30), grey_jpeg(20, 30)
    assert decode(colour, channels=1).shape == (20, 30, 1)
    assert decode(grey).shape == (20, 30, 1)
    assert np.array_equal(decode(grey, channels=3), np.repeat(decode(grey), 3, axis=2))


def test_given_a_header_then_the_shape_is_read_and_nothing_decoded() -> None:
    contents = jpeg(20, 30)
    header = contents[: contents.index(b"\xff\xda") + 20]  # no pixels
    got = shape_of(header)
    assert got.tolist() == [20, 30, 3]
    assert got.dtype == np.int32
    assert shape_of(header, output_type=np.int64).dtype == np.int64


def test_given_anything_like_bytes_then_it_is_decoded() -> None:
    for kind in (bytes, bytearray, memoryview):
        assert np.array_equal(decode(kind(BASELINE)), decode(BASELINE))


# Bad input


def test_given_a_jpeg_cut_short_anywhere_then_it_is_a_data_error() -> None:
    for size in range(len(BASELINE) - 1):
        with pytest.raises(ps.errors.DataError, match=r"ps\.io\.decode_jpeg: expected"):
            decode(BASELINE[:size])


def test_given_a_truncated_jpeg_when_recovering_then_the_rows_that_are_there_come() -> None:
    contents = jpeg(160, 160)
    got = decode(contents[: len(contents) // 2], try_recover_truncated=True)
    assert got.shape == (160, 160, 3)
    assert np.array_equal(got[:32], decode(contents)[:32])


def test_given_something_between_the_pixels_and_the_end_then_nothing_is_lost() -> None:
    padded = BASELINE[:-2] + bytes(40) + BASELINE[-2:]
    assert np.array_equal(decode(padded), decode(BASELINE))
    assert np.array_equal(decode(BASELINE + b"more"), decode(BASELINE))


def test_given_a_png_among_jpegs_then_it_is_decoded_too() -> None:
    picture = photo(24, 32)
    contents = [jpeg(24, 32), png(picture), jpeg(24, 32, seed=1)]
    got = list(ps.Dataset.from_tensor_slices(contents).map(lambda x: decode(x, channels=3)))
    assert np.array_equal(got[1], picture)
    assert np.array_equal(got[2], decode(contents[2]))
    assert np.array_equal(decode(contents[1], ratio=2), picture)
    with pytest.raises(ps.errors.DataError, match=r"decode_jpeg: expected a PNG to go on after byte 8"):
        decode(contents[1][:8])
    with pytest.raises(ps.errors.DataError, match=r"expected a JPEG, .*PNG"):
        crop(contents[1], (0, 0, 1, 1))


def test_given_the_first_bytes_of_a_jpeg_alone_then_it_is_said_to_be_cut_short() -> None:
    with pytest.raises(ps.errors.DataError, match=r"after byte 3: it is cut short"):
        ps.io.decode_jpeg(b"\xff\xd8\xff")


@pytest.mark.parametrize("contents", [b"", b"hello", b"\xff\xd8\xff", bytes(1000)])
def test_given_no_jpeg_then_the_error_says_what_came(contents: bytes) -> None:
    for function in (decode, shape_of, lambda x: crop(x, (0, 0, 1, 1))):
        with pytest.raises(ps.errors.DataError, match=r"expected (a JPEG|more of the JPEG).*"):
            function(contents)


@pytest.mark.parametrize("side", [65535, 30000, 9000])
def test_given_an_absurd_size_then_it_is_refused_before_anything_is_allocated(side: int) -> None:
    contents = with_size(jpeg(64, 64), side, side)
    tracemalloc.start()
    try:
        with pytest.raises(ps.errors.DataError, match=rf"header says {side} x {side}"):
            decode(contents)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
        with pytest.raises(ps.errors.DataError, match=rf"header says {side} x {side}"):
            crop(contents, (0, 0, 8, 8))
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_given_a_truncated_jpeg_of_absurd_size_when_recovering_then_it_is_refused_too() -> None:
    with pytest.raises(ps.errors.DataError, match="at most 512 MiB"):
        decode(with_size(jpeg(64, 64), 65535, 65535), try_recover_truncated=True)


@pytest.mark.parametrize("window", [(0, 0, 21, 5), (0, 0, 5, 31), (-1, 0, 5, 5), (0, 0, 0, 5), (18, 0, 3, 3)])
def test_given_a_window_outside_then_the_error_says_the_size(window: Any) -> None:
    with pytest.raises(ps.errors.DataError, match=r"20 x 30 pixels, got \("):
        crop(jpeg(20, 30), window)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x: decode(x, channels=2),
        lambda x: decode(x, channels=4),
        lambda x: decode(x, ratio=3),
        lambda x: decode(x, dct_method="QUICK"),
        lambda x: crop(x, (1, 2, 3)),
        lambda x: crop(x, (1, 2, 3, 4.5)),
        lambda x: shape_of(x, output_type=np.uint8),
        lambda x: decode("text"),
        lambda x: decode(np.frombuffer(x, np.uint8)),
    ],
)
def test_given_a_wrong_argument_then_the_error_names_the_function(wrong: Any) -> None:
    with pytest.raises((ps.errors.ArgumentError, ps.errors.ArgumentTypeError), match=r"ps\.io\..*: expected"):
        wrong(BASELINE)


def test_given_mutated_jpegs_then_pixels_come_or_a_data_error() -> None:
    rng = np.random.default_rng(11)
    sources = [BASELINE, PROGRESSIVE, RESTARTS, CMYK, jpeg(33, 47, sampling="422")]
    outcomes = {"pixels": 0, "error": 0}
    for _ in range(600):
        contents = bytearray(sources[int(rng.integers(len(sources)))])
        for _ in range(int(rng.integers(1, 6))):
            contents[int(rng.integers(len(contents)))] = int(rng.integers(256))
        for function in (decode, shape_of, lambda x: crop(x, (0, 1, 8, 9), ratio=2)):
            try:
                got = function(bytes(contents))
                assert isinstance(got, np.ndarray)
                outcomes["pixels"] += 1
            except ps.errors.DataError:
                outcomes["error"] += 1
    assert min(outcomes.values()) > 100


def test_given_no_library_then_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "simplejpeg", None)
    with pytest.raises(ps.errors.PenstockError, match=r"pip install '\.\[image\]'"):
        decode(BASELINE)
    assert shape_of(BASELINE).tolist() == [40, 52, 3]  # needs no library


# Over blocks


def dataset(contents: list[bytes]) -> ps.Dataset:
    return ps.Dataset.from_tensor_slices(np.array(contents, object))


FUNCTIONS: dict[str, Any] = {
    "decode_jpeg": decode,
    "half": lambda x: decode(x, ratio=2, channels=3),
    "crop": lambda x: crop(x, (2, 3, 10, 12)),
    "random crop": lambda x: crop(x, (ps.random.integers(0, 5), 3, 10, 12)),
    "shape": shape_of,
    "in a tuple": lambda x: (decode(x), shape_of(x)[0]),
}


@pytest.mark.parametrize("sizes", ["equal", "unequal", "grey and colour"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_given_a_block_then_the_bits_are_those_of_a_call_a_row(name: str, sizes: str) -> None:
    heights = [20] * 12 if sizes == "equal" else [20 + i % 5 for i in range(12)]
    contents = [jpeg(height, 30, seed) for seed, height in enumerate(heights)]
    if sizes == "grey and colour":
        contents[3] = grey_jpeg(20, 30)
    function = FUNCTIONS[name]
    over = dataset(contents).map(function)
    plain = dataset(contents).map(lambda x: function(x) if len(x) else x)
    assert why_row_by_row(over) == ""
    assert why_row_by_row(plain) != ""
    for rows in (1, 5, 64):
        assert same(drain(over.with_options(ps.Options(block_rows=rows))), drain(plain))


def test_given_a_bad_jpeg_among_good_ones_then_only_it_is_lost() -> None:
    contents = [jpeg(20, 30, seed) for seed in range(9)]
    contents[5] = contents[5][:200]
    ds = dataset(contents).map(decode)
    with ds.iterate() as it:
        before = [next(it) for _ in range(5)]
        with pytest.raises(ps.errors.FunctionError, match="element 5: DataError") as caught:
            next(it)
        after = list(it)
    assert isinstance(caught.value.__cause__, ps.errors.DataError)
    good = [decode(each) for i, each in enumerate(contents) if i != 5]
    assert same([*before, *after], good)
    assert len(list(ds.ignore_errors())) == 8


def test_given_images_that_grow_then_the_budget_holds() -> None:
    small, large = jpeg(8, 8), jpeg(600, 800)
    ds = dataset([small] * 100 + [large] * 30).map(decode)
    with ds.iterate(memory=16 << 20) as it:
        shapes = [x.shape for x in it]
        assert it._run.ledger.peak <= 16 << 20
    assert shapes == [(8, 8, 3)] * 100 + [(600, 800, 3)] * 30


def test_given_threads_that_divide_the_rows_then_each_row_is_right() -> None:
    contents = [jpeg(64, 80, seed) for seed in range(16)]
    pictures = [Jpeg(memoryview(each), "test", JpegOptions()) for each in contents]
    out = np.zeros((16, 64, 80, 3), np.uint8)
    halves = [threading.Thread(target=fill, args=(pictures, out, at, at + 8)) for at in (0, 8)]
    for half in halves:
        half.start()
    for half in halves:
        half.join()
    assert np.array_equal(out, np.stack([decode(each) for each in contents]))


def test_when_one_image_is_damaged_then_the_others_are_still_decoded_over_the_block() -> None:
    good = BASELINE
    rows = [good] * 40
    rows[7] = rows[30] = b"no image at all"
    ds = ps.Dataset.from_tensor_slices(rows).map(ps.io.decode_jpeg)
    got = []
    with ds.iterate() as it:
        for number in range(40):
            if number in (7, 30):
                with pytest.raises(ps.errors.ElementError) as caught:
                    next(it)
                assert caught.value.number == number
            else:
                got.append(next(it))
        assert it._run.root._running._rows.why == ""
    assert len(got) == 38
    assert all((image == ps.io.decode_jpeg(good)).all() for image in got)


@pytest.mark.parametrize("parsed", [False, True])
def test_given_a_map_that_decodes_then_it_is_said_to_go_over_blocks(parsed: bool) -> None:
    features = {"image": ps.io.FixedLenFeature([], "bytes")}

    def decode(record: Any) -> Any:
        return ps.io.decode_jpeg(ps.io.parse_single_example(record, features)["image"] if parsed else record)

    explained = str(ps.Dataset.from_tensor_slices([b"some"]).map(decode).explain())
    assert "called over whole blocks" in explained
    assert "row by row" not in explained
