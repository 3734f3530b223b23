"""The compiled pass over images against NumPy's passes."""

import numpy as np
import pytest

from penstock.kernels import loading, pixels
from penstock.kernels.order import exchange


@pytest.fixture(autouse=True)
def _compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    loading.load()
    monkeypatch.setattr(loading, "_ready", True)


@pytest.mark.parametrize("axes", [(1, 1, 1), (5, 1, 7), (4, 9, 1), (3, 8, 3), (1, 6, 20), (7, 61, 67)])
@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize("mirrored", [True, False])
def test_given_rows_of_any_shape_then_both_give_the_same_bits(
    axes: pixels.Axes, indexed: bool, mirrored: bool
) -> None:
    random = np.random.default_rng(7)
    source = random.integers(0, 256, (50, int(np.prod(axes)))).astype(np.uint8)
    index = random.integers(0, 50, 37) if indexed else np.arange(50)
    begins, count = source.ctypes.data + index * source.shape[1], len(index)
    coin = random.random(count) < 0.5 if mirrored else np.zeros(0, bool)
    steps = [pixels.ADD, pixels.SUBTRACT, pixels.SUBTRACTED, pixels.MULTIPLY, pixels.DIVIDE]
    for codes in ([], *([step] for step in steps), steps, steps[::-1]):
        numbers = np.linspace(0.3, 7.7, len(codes), dtype=np.float32)
        out = [np.full((count, source.shape[1]), np.nan, np.float32) for _ in range(2)]
        more = coin, axes, np.array(codes, np.int64), numbers
        pixels.run(begins, *more, out[0])
        pixels.run_numpy(source[index], *more, out[1])
        assert out[0].tobytes() == out[1].tobytes()


@pytest.mark.parametrize("key", [0, 5, (1 << 64) - 3])
@pytest.mark.parametrize("size", [1, 7, 1000, 1 << 16])
def test_given_draws_then_the_compiled_exchange_is_that_of_numpy(
    key: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = exchange(key, 77, 5000, size)
    monkeypatch.setattr(loading, "_ready", False)
    plain = exchange(key, 77, 5000, size)
    assert np.array_equal(compiled[0], plain[0])
    assert all(np.array_equal(a, b) for a, b in zip(compiled[1:], plain[1:], strict=True))


def test_given_a_small_budget_or_little_work_then_nothing_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []
    monkeypatch.setattr(loading, "_loader", None)
    monkeypatch.setattr(loading, "_seen", 0)
    monkeypatch.setattr(loading, "load", lambda: started.append(1))
    loading.want(1 << 30, loading.ENOUGH - 1)
    loading.want(loading.WORTH - 1, loading.ENOUGH)
    assert not started
    loading.want(1, loading.ENOUGH)
    loading._wait()
    assert started == [1]
