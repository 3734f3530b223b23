"""Windows of JPEGs: the bits of the library, which decodes the whole image."""

from __future__ import annotations

import os
import platform
import sys
from importlib import import_module
from typing import Any

import numpy as np
import pytest
import simplejpeg

import penstock as ps
from contract.op_contract import same
from contract.pictures import BASELINE, CMYK, PROGRESSIVE, RESTARTS, jpeg, photo, turned
from penstock.image.codecs import jpeg as codec
from penstock.image.codecs import jpeg_window
from penstock.image.codecs.jpeg_header import read_header
from penstock.image.codecs.jpeg_window import PROVEN, decoded_window
from penstock.image.codecs.picture import Kept

pytestmark = pytest.mark.skipif(platform.machine() not in PROVEN, reason="the library decodes all of them")


@pytest.fixture(autouse=True)
def for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the kernels decode small images as well, and any number of tables."""
    import_module("penstock.kernels.compiled.jpeg_rows")
    monkeypatch.setattr(jpeg_window, "_SMALL", 0)
    monkeypatch.setattr(jpeg_window, "FEW", 1 << 30)


def coded(image: Any, quality: int = 90, sampling: str = "420") -> bytes:
    return bytes(simplejpeg.encode_jpeg(np.ascontiguousarray(image), quality, colorsubsampling=sampling))


def window_of(contents: bytes, window: Any, kept: Kept | None = None) -> Any:
    """What is decoded without the library; None where it is left to it."""
    data = memoryview(contents)
    return decoded_window(data, read_header(data, "test"), window, kept or Kept())


def windows(height: int, width: int, count: int, seed: int = 0) -> list[tuple[int, int, int, int]]:
    """Windows of all sizes: the whole image, its corners, and others."""
    rng = np.random.default_rng(seed)
    found = [(0, 0, height, width), (0, 0, 1, 1), (height - 1, width - 1, 1, 1), (height - 1, 0, 1, width)]
    for _ in range(count):
        rows, columns = int(rng.integers(1, height + 1)), int(rng.integers(1, width + 1))
        top, left = int(rng.integers(0, height - rows + 1)), int(rng.integers(0, width - columns + 1))
        found.append((top, left, rows, columns))
    return found


def noise(height: int, width: int, seed: int) -> Any:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


def extremes(height: int, width: int, seed: int) -> Any:
    """Black and white beside each other, in places of all kinds: numbers as large as they come."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    checks = ((x >> rng.integers(0, 3)) + (y >> rng.integers(0, 3))) % 2 * 255
    return np.stack([checks, 255 - checks, np.where(noise(height, width, seed)[..., 0] > 127, 255, 0)], -1)


KINDS = {"photo": photo, "noise": noise, "extremes": extremes}


@pytest.mark.parametrize("sampling", ["420", "444"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("quality", [1, 25, 75, 90, 100])
def test_given_a_window_then_its_pixels_are_those_of_the_whole(
    kind: str, quality: int, sampling: str
) -> None:
    kept = Kept()
    for seed, (height, width) in enumerate([(8, 8), (16, 17), (33, 9), (40, 52), (61, 75), (97, 300)]):
        contents = coded(KINDS[kind](height, width, seed).astype(np.uint8), quality, sampling)
        whole = ps.io.decode_jpeg(contents)
        for top, left, rows, columns in windows(height, width, 12, seed):
            got = window_of(contents, (top, left, rows, columns), kept)
            expected = whole[top : top + rows, left : left + columns]
            assert got is not None
            assert same(got.copy(), expected.copy()), (height, width, top, left, rows, columns)


def test_given_wide_images_then_groups_of_blocks_are_whole_or_not() -> None:
    for width in range(120, 140):
        contents = jpeg(24, width, width)
        whole = ps.io.decode_jpeg(contents)
        for left in (0, 1, 17):
            assert same(window_of(contents, (3, left, 20, width - left)).copy(), whole[3:23, left:].copy())


@pytest.mark.parametrize(
    "contents",
    [
        PROGRESSIVE,
        RESTARTS,
        CMYK,
        jpeg(40, 52, sampling="422"),
        jpeg(40, 52, sampling="440"),
        jpeg(40, 7),
        coded(photo(40, 52)).replace(b"\xff\xdb\x00\x43\x00", b"\xff\xdb\x00\x43\x10"),
    ],
    ids=["progressive", "restarts", "cmyk", "422", "440", "narrow", "wide scales"],
)
def test_given_an_unusual_jpeg_then_it_is_left_to_the_library(contents: bytes) -> None:
    assert window_of(contents, (1, 1, 5, 5)) is None


def test_given_what_a_camera_noted_then_it_is_decoded_all_the_same() -> None:
    assert same(window_of(turned(BASELINE), (3, 4, 20, 21)), window_of(BASELINE, (3, 4, 20, 21)))


def test_given_code_that_ends_early_then_it_is_left_to_the_library() -> None:
    contents = jpeg(64, 64)
    assert window_of(contents[: len(contents) // 2], (40, 0, 20, 64)) is None
    assert window_of(contents[: len(contents) // 2] + b"\xff\xd9", (40, 0, 20, 64)) is None
    assert window_of(contents, (40, 0, 20, 64)) is not None


def outcome(contents: bytes, window: Any) -> Any:
    try:
        return ps.io.decode_and_crop_jpeg(contents, window)
    except ps.errors.DataError as error:
        return str(error)


def test_given_damage_then_what_comes_is_what_the_library_says(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    files = [jpeg(48, 64, seed, sampling=sampling) for seed in range(3) for sampling in ("420", "444")]
    damaged = []
    for _ in range(400):
        contents = bytearray(files[int(rng.integers(len(files)))])
        for _ in range(int(rng.integers(1, 4))):
            contents[int(rng.integers(2, len(contents)))] = int(rng.integers(256))
        damaged.append((bytes(contents), windows(48, 64, 1, int(rng.integers(1 << 30)))[-1]))
    got = [outcome(*one) for one in damaged]
    monkeypatch.setattr(codec, "decoded_window", lambda *_: None)
    for one, contents in zip(got, damaged, strict=True):
        expected = outcome(*contents)
        assert type(one) is type(expected)
        assert one == expected if isinstance(one, str) else same(one, expected)


def test_given_tables_that_are_others_each_time_then_no_more_are_built(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    built: list[tuple[bytes, ...]] = []
    monkeypatch.setattr(jpeg_window, "FEW", 8)
    monkeypatch.setattr(jpeg_window, "_tables_of", lambda *key: built.append(key))
    tables = jpeg_window._Built()
    for number in range(100):
        tables.tables(bytes([number]))
    assert len(built) == 8 + 1


def test_given_a_few_tables_that_are_used_often_then_each_is_built_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    built: list[tuple[bytes, ...]] = []
    monkeypatch.setattr(jpeg_window, "_tables_of", lambda *key: built.append(key))
    tables = jpeg_window._Built()
    for number in range(100):
        tables.tables(bytes([number % jpeg_window.KEPT]))
    assert len(built) == jpeg_window.KEPT


def test_given_a_small_image_or_kernels_that_are_not_there_then_the_library_decodes_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    contents = jpeg(64, 64)
    monkeypatch.setattr(jpeg_window, "_SMALL", 64 * 64 + 1)
    assert window_of(contents, (1, 1, 5, 5)) is None
    monkeypatch.setattr(jpeg_window, "_SMALL", 64 * 64)
    assert window_of(contents, (1, 1, 5, 5)) is not None
    monkeypatch.delitem(sys.modules, jpeg_window._KERNELS)
    assert window_of(contents, (1, 1, 5, 5)) is None


def test_given_a_child_that_is_forked_while_tables_are_looked_up_then_it_need_not_wait() -> None:
    with jpeg_window._built._lock:
        child = os.fork()
        if child == 0:
            os._exit(0 if jpeg_window._built._lock.acquire(timeout=20) else 1)
        assert os.waitpid(child, 0)[1] == 0
