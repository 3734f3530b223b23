"""What is done with windows of JPEGs while they are decoded: the bits of doing it afterwards."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import drain, same
from contract.pictures import jpeg
from contract.ways import why_row_by_row
from penstock.blocks.trace import Trace
from penstock.image import resampled_rows
from penstock.image.codecs.jpeg import Jpeg

JPEGS = np.array([jpeg(30 + seed % 7, 90, seed) for seed in range(40)], object)
crop, flip = ps.image.random_resized_crop, ps.image.random_flip_left_right


def window(x: Any, **how: Any) -> Any:
    return crop(x, (16, 17), **how)


def in_place(x: Any) -> Any:
    image = window(x).astype(np.float32)
    image /= 127.5
    image -= 1
    return image


def two_branches(x: Any) -> Any:
    image = flip(window(x))
    return image / 255, image * 2, image


def written_after_use(x: Any) -> Any:
    image = window(x)
    half = image / 2
    copied = image.astype(np.float32)
    copied += 1
    return half, copied, image


def written_after_a_flip(x: Any) -> Any:
    image = window(x)
    flipped = flip(image)
    np.minimum(flipped, 150, out=flipped)
    return image, flipped


WAYS: dict[str, Callable[[Any], Any]] = {
    "nothing": window,
    "a flip": lambda x: flip(window(x)),
    "a flip up and down": lambda x: ps.image.random_flip_up_down(window(x)) / 2,
    "two flips": lambda x: flip(flip(window(x))) - 3,
    "steps": lambda x: 1 - (flip(window(x)).astype(np.float32) / np.float32(127.5) - 1) * 3,
    "many steps": lambda x: ((((window(x) + 1) / 3 - 0.1) * 7 + 2) - 5) / 9,
    "a flip in the end": lambda x: flip(window(x) / 255),
    "numbers that are not plain": lambda x: window(x) * np.float64(0.1) + np.arange(3),
    "other functions": lambda x: np.sqrt(window(x) / 255).sum(axis=0),
    "grey": lambda x: flip(window(x, channels=1)) / 255,
    "nearest": lambda x: flip(window(x, interpolation="nearest")) / 255,
    "half precision": lambda x: (window(x) / 255).astype(np.float16),
    "in place": in_place,
    "two branches": two_branches,
    "written after use": written_after_use,
    "written after a flip": written_after_a_flip,
}


@pytest.mark.parametrize("way", WAYS)
def test_given_any_use_of_a_window_then_the_bits_are_those_of_plain_calls(way: str) -> None:
    source, function = ps.Dataset.from_tensor_slices(JPEGS), WAYS[way]
    over = source.map(function)
    assert why_row_by_row(over) == ""
    expected = drain(source.map(function, executor="threads"))
    assert same(drain(over), expected)
    assert same(drain(over.with_options(ps.Options(block_rows=7))), expected)


def test_given_a_window_that_is_flipped_and_scaled_then_each_jpeg_is_decoded_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    decoded: list[int] = []
    around, together = Jpeg.around, resampled_rows._together
    monkeypatch.setattr(Jpeg, "around", lambda self, kept: decoded.append(1) or around(self, kept))

    def counted(found: Any, *how: Any) -> None:
        decoded.extend(1 for one in found if one is not None)
        together(found, *how)

    monkeypatch.setattr(resampled_rows, "_together", counted)
    for function, last in ((WAYS["steps"], 40), (two_branches, 80)):
        ds = ps.Dataset.from_tensor_slices(JPEGS).map(function)
        drain(ds)  # rows are compared with plain calls
        decoded.clear()
        drain(ds)
        assert len(decoded) <= last + 1, "one is compared in every run"


@pytest.mark.parametrize(
    "function",
    [lambda x: window(x, scale=(1, 1)).shape[0], lambda x: window(x, scale=(1, 1)).astype(np.float32).ndim],
)
def test_given_a_damaged_jpeg_of_which_no_pixel_is_used_then_it_fails_all_the_same(function: Any) -> None:
    contents = JPEGS.copy()
    contents[11] = contents[11][:-300]
    ds = ps.Dataset.from_tensor_slices(contents).map(function)
    with pytest.raises(ps.errors.FunctionError, match=r"element 11: .*the decoder says"):
        drain(ds)
    assert len(drain(ds.ignore_errors())) == 39


def test_given_a_damaged_jpeg_then_it_fails_alone_and_the_others_come() -> None:
    contents = JPEGS.copy()
    contents[11] = contents[11][:-300]
    ds = ps.Dataset.from_tensor_slices(contents).map(lambda x: flip(window(x, scale=(1, 1))) / 255)
    with pytest.raises(ps.errors.FunctionError, match=r"element 11: .*the decoder says"):
        drain(ds)
    assert len(drain(ds.ignore_errors())) == 39


def traces() -> int:
    """How many calls over blocks are alive."""
    return sum(1 for one in gc.get_objects() if type(one) is Trace)


def test_when_a_block_of_crops_is_done_then_nothing_waits_for_a_collection() -> None:
    """What is yet to be proved of pictures refers to the call, and the call to it."""
    ds = ps.Dataset.from_tensor_slices(JPEGS.tolist()).map(lambda x: flip(window(x)) / 255)
    gc.collect()
    before = traces()
    gc.disable()
    try:
        with ds.iterate() as it:
            for _ in it:
                pass
        it._run.ledger.settle()
        assert it._run.ledger.held == 0
        assert traces() == before
    finally:
        gc.enable()
