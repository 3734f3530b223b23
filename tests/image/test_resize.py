"""`ps.image.resize`: the kernel's bits are NumPy's, of arrays and of pictures that are yet to be decoded."""

from __future__ import annotations

import functools
import itertools
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import drain, same
from contract.pictures import by_numpy, jpeg, photo, png
from contract.ways import why_row_by_row
from penstock.image.codecs.jpeg import Jpeg
from penstock.kernels import loading

resize = ps.image.resize
ALIKE = np.array([jpeg(30, 44, seed) for seed in range(40)], object)
SEVERAL = np.array([jpeg(20 + seed % 7, 60 - seed % 5, seed) for seed in range(40)], object)


@pytest.fixture(autouse=True)
def kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever has been done before in this process, the kernels are used."""
    monkeypatch.setattr(loading, "earned", lambda nbytes: True)


@pytest.mark.parametrize("method", ["bilinear", "nearest"])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.int16, np.float64, np.uint16, bool])
@pytest.mark.parametrize("shape", [(37, 50), (37, 50, 1), (37, 50, 3), (21, 30, 4), (1, 1, 3)])
def test_given_an_image_then_the_kernels_bits_are_those_of_numpy(shape: Any, dtype: Any, method: str) -> None:
    image = (np.random.default_rng(0).random(shape) * 255).astype(dtype)
    for size in itertools.product((1, 11, 37, 64), (1, 23, 50, 75)):
        for keep in (False, True):
            how = {"method": method, "preserve_aspect_ratio": keep}
            assert same(resize(image, size, **how), by_numpy(image, size, **how)), (size, keep)


@pytest.mark.parametrize("shape", [(300, 1, 3), (1, 300, 3), (2, 300, 1, 3)])
def test_given_a_ratio_that_leaves_no_pixels_then_the_shape_is_that_of_numpy(shape: tuple[int, ...]) -> None:
    image = np.ones(shape, np.uint8)
    for method in ("bilinear", "nearest"):
        how = {"method": method, "preserve_aspect_ratio": True}
        assert same(resize(image, (10, 10), **how), by_numpy(image, (10, 10), **how))


@pytest.mark.parametrize("method", ["bilinear", "nearest"])
@pytest.mark.parametrize("shape", [(2, 5, 7, 0), (0, 5, 7, 3), (5, 7, 0)])
def test_given_images_without_pixels_then_the_shape_is_that_of_numpy(
    shape: tuple[int, ...], method: str
) -> None:
    image = np.zeros(shape, np.uint8)
    assert same(resize(image, (3, 4), method), by_numpy(image, (3, 4), method=method))
    ds = ps.Dataset.from_tensor_slices(np.zeros((9, *shape), np.uint8))
    assert all(same(x, resize(image, (3, 4), method)) for x in ds.map(lambda x: resize(x, (3, 4), method)))


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.int16, np.float64])
@pytest.mark.parametrize("shape", [(37, 50), (37, 50, 1), (37, 50, 3), (21, 30, 4)])
def test_given_antialias_then_the_kernels_bits_are_those_of_numpy(shape: Any, dtype: Any) -> None:
    image = (np.random.default_rng(0).random(shape) * 255).astype(dtype)
    for size in [(1, 1), (5, 11), (20, 29), (36, 49), (20, 60), (60, 20), (37, 20), (50, 60)]:
        assert same(resize(image, size, antialias=True), by_numpy(image, size, antialias=True)), size
    assert same(resize(image, (9, 9), "nearest", antialias=True), by_numpy(image, (9, 9), method="nearest"))


@pytest.mark.parametrize("size", [(5, 9), (8, 9), (5, 6), (8, 6)])
def test_given_numbers_that_are_not_finite_then_an_axis_that_stays_keeps_them(size: Any) -> None:
    image = np.arange(48, dtype=np.float32).reshape(8, 6)
    image[2, 3], image[5, 1] = np.inf, np.nan
    with np.errstate(invalid="ignore"):
        assert same(resize(image, size), by_numpy(image, size))
    assert np.isinf(resize(image, (8, 6))).sum() == 1


def test_given_an_image_in_any_order_then_it_is_read_as_it_is() -> None:
    image = photo(40, 30)
    for seen in (image[::-1, ::2], image.transpose(1, 0, 2), np.asfortranarray(image), image[..., ::-1]):
        assert same(resize(seen, (9, 17)), by_numpy(seen, (9, 17)))


@pytest.mark.parametrize("how", [{}, {"antialias": True}, {"method": "nearest"}])
def test_given_a_stack_then_each_is_resized(how: Any) -> None:
    stack = np.stack([photo(20, 24, seed) for seed in range(3)])
    expected = np.stack([by_numpy(one, (7, 30), **how) for one in stack])
    assert same(resize(stack, (7, 30), **how), expected)
    assert same(by_numpy(stack, (7, 30), **how), expected)
    ds = ps.Dataset.from_tensor_slices(stack).batch(2).map(functools.partial(resize, size=(7, 30), **how))
    assert why_row_by_row(ds) == ""
    assert same(drain(ds), [expected[:2], expected[2:]])


def test_given_an_array_that_is_changed_afterwards_then_the_resized_one_is_of_what_it_was() -> None:
    def function(x: Any) -> Any:
        image = x + 1
        small = resize(image, (5, 7))
        image[:] = 0
        return small / 2, image.sum()

    source = ps.Dataset.from_tensor_slices(np.stack([photo(20, 24, seed) for seed in range(9)]))
    over = source.map(function)
    assert why_row_by_row(over) == ""
    assert same(drain(over), drain(source.map(by_row(function))))


def test_given_little_work_then_numba_is_not_loaded_and_given_more_it_is() -> None:
    code = """
        import json, sys
        import numpy as np
        import penstock as ps
        image = np.arange(3 * 600 * 800).reshape(600, 800, 3).astype(np.uint8)
        few = [ps.image.resize(image[:60, :80], (50, 50)) for _ in range(3)]
        loaded = ["numba" in sys.modules]
        many = [ps.image.resize(image, (200, 300)) for _ in range(14)]
        loaded.append("numba" in sys.modules)
        print(json.dumps([*loaded, all((one == many[0]).all() for one in many)]))
    """
    lines = "\n".join(line.strip() for line in code.strip().splitlines())
    told = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True)
    assert json.loads(told.stdout) == [False, True, True]


@pytest.mark.parametrize(("budget", "loaded"), [("64MiB", False), ("1GiB", True)])
def test_given_a_small_budget_then_numba_is_not_loaded_for_it(budget: str, loaded: bool) -> None:
    code = f"""
        import sys
        import numpy as np
        import penstock as ps
        ds = ps.Dataset.from_tensor_slices(np.zeros((40, 600, 800, 3), np.uint8))
        ds = ds.map(lambda x: ps.image.resize(x, (20, 30)))
        list(ds.iterate(memory={budget!r}))
        print("numba" in sys.modules)
    """
    lines = "\n".join(line.strip() for line in code.strip().splitlines())
    told = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == str(loaded)


# Pictures that are decoded when it is known what is to be done with them


def decoded_twice(x: Any) -> Any:
    image = ps.io.decode_jpeg(x)
    return resize(image, (9, 8)), image.sum(axis=(0, 1))


def changed_before(x: Any) -> Any:
    image = ps.io.decode_jpeg(x)
    image[:4] = 0
    return resize(image, (9, 8))


def changed_after(x: Any) -> Any:
    image = ps.io.decode_jpeg(x)
    small = resize(image, (9, 8))
    image[:4] = 0
    return small / 2, image.sum(axis=(0, 1))


def resized_twice(x: Any) -> Any:
    image = ps.io.decode_jpeg(x)
    return resize(resize(image, (9, 8)), (5, 5)), resize(image, (12, 7), method="nearest")


WAYS: dict[str, Callable[[Any], Any]] = {
    "resized": lambda x: resize(ps.io.decode_jpeg(x), (16, 17)),
    "flipped and computed": lambda x: (
        ps.image.random_flip_left_right(resize(ps.io.decode_jpeg(x), (16, 17))) / np.float32(127.5) - 1
    ),
    "smaller at once": lambda x: resize(ps.io.decode_jpeg(x, ratio=2), (8, 9)),
    "grey": lambda x: resize(ps.io.decode_jpeg(x, channels=1), (16, 17)) * 2,
    "any kind": lambda x: resize(ps.io.decode_image(x, channels=3), (16, 17)),
    "nearest": lambda x: resize(ps.io.decode_jpeg(x), (16, 17), method="nearest"),
    "as wide as high": lambda x: resize(ps.io.decode_jpeg(x), (16, 30), preserve_aspect_ratio=True),
    "smoothly": lambda x: resize(ps.io.decode_jpeg(x), (16, 17), antialias=True) / 255,
    "decoded twice": decoded_twice,
    "changed before": changed_before,
    "changed after": changed_after,
    "resized twice": resized_twice,
}


def by_row(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The same function, called row by row because it branches on its element."""
    return lambda x: function(x) if len(x) >= 0 else x


@pytest.mark.parametrize("name", WAYS)
def test_given_jpegs_of_one_size_then_the_bits_are_those_of_a_call_a_row(name: str) -> None:
    source = ps.Dataset.from_tensor_slices(ALIKE)
    over = source.map(WAYS[name])
    assert why_row_by_row(over) == ""
    assert same(drain(over), drain(source.map(by_row(WAYS[name]))))


@pytest.mark.parametrize(
    "name", ["resized", "flipped and computed", "grey", "any kind", "nearest", "smoothly"]
)
def test_given_jpegs_of_several_sizes_then_they_are_resized_over_the_block_too(name: str) -> None:
    source = ps.Dataset.from_tensor_slices(SEVERAL)
    over = source.map(WAYS[name])
    assert why_row_by_row(over) == ""
    assert same(drain(over), drain(source.map(by_row(WAYS[name]))))


@pytest.mark.parametrize("contents", [ALIKE, SEVERAL], ids=["alike", "several"])
def test_given_maps_one_after_another_then_the_bits_are_the_same(contents: Any) -> None:
    source = ps.Dataset.from_tensor_slices(contents)
    many = source.map(ps.io.decode_jpeg).map(lambda x: resize(x, (16, 17)))
    assert why_row_by_row(many) == ""
    assert same(drain(many), [by_numpy(ps.io.decode_jpeg(one), (16, 17)) for one in contents])


def test_given_pngs_of_sixteen_bits_then_all_of_them_count() -> None:
    values = np.random.default_rng(2).integers(0, 1 << 16, (6, 12, 10, 3), np.uint16)
    source = ps.Dataset.from_tensor_slices(np.array([png(one, 16) for one in values], object))
    got = drain(source.map(lambda x: resize(ps.io.decode_png(x, dtype=np.uint16), (5, 7))))
    assert same(got, [by_numpy(one, (5, 7)) for one in values])


@pytest.mark.parametrize("contents", [ALIKE, SEVERAL], ids=["alike", "several"])
@pytest.mark.parametrize("function", [lambda x: resize(ps.io.decode_jpeg(x), (6, 7)), ps.io.decode_jpeg])
def test_given_a_damaged_jpeg_then_its_number_is_said_and_the_others_come(
    contents: Any, function: Any
) -> None:
    damaged = contents.copy()
    damaged[17] = damaged[17][: len(damaged[17]) * 2 // 3]
    ds = ps.Dataset.from_tensor_slices(damaged).map(function)
    with pytest.raises(ps.errors.FunctionError, match=r"element 17: .*ps\.io\.decode_jpeg"):
        drain(ds)
    assert same(
        drain(ds.on_error("skip")),
        [function(one) for row, one in enumerate(contents) if row != 17],
    )


def test_given_pixels_that_nobody_uses_then_a_damaged_one_is_found_all_the_same() -> None:
    damaged = ALIKE.copy()
    damaged[5] = damaged[5][:-40]
    ds = ps.Dataset.from_tensor_slices(damaged).map(lambda x: (ps.io.decode_jpeg(x).shape[0], x)[0])
    with pytest.raises(ps.errors.FunctionError, match="element 5: "):
        drain(ds)


def test_given_a_resize_then_each_is_decoded_once() -> None:
    count = 0
    real = Jpeg._decode_as

    def decode(self: Jpeg, *args: Any) -> None:
        nonlocal count
        count += 1
        real(self, *args)

    source = ps.Dataset.from_tensor_slices(SEVERAL)
    ds = source.map(lambda x: resize(ps.io.decode_jpeg(x), (16, 17)) / 255)
    drain(ds)  # the first rows are called by themselves too, to compare
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Jpeg, "_decode_as", decode)
        drain(ds)
    assert count <= len(SEVERAL) + 2
