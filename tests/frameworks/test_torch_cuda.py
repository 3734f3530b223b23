"""`as_torch` on a real GPU: the values, pinned staging, a stream of its own, and bounds on both sides."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import penstock as ps

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("needs a GPU", allow_module_level=True)

MIB = 1 << 20


def batches(count: int, rows: int = 256) -> ps.Dataset:
    """Batches of `rows` KiB each, every one full of its own number."""
    numbers = np.arange(count, dtype=np.float32)
    return ps.Dataset.from_tensor_slices(numbers).map(lambda n: np.zeros((rows, 256), np.float32) + n)


def test_given_a_gpu_then_every_leaf_is_there_with_its_values() -> None:
    rows = {"x": np.random.default_rng(0).normal(size=(100, 33)), "n": np.arange(100), "s": [b"a"] * 100}
    got = list(ps.Dataset.from_tensor_slices(rows).batch(7).as_torch(device="cuda"))
    assert {part.device.type for batch in got for part in (batch["x"], batch["n"])} == {"cuda"}
    assert np.array_equal(torch.cat([batch["x"] for batch in got]).cpu().numpy(), rows["x"])
    assert torch.cat([batch["n"] for batch in got]).tolist() == list(range(100))
    assert [text for batch in got for text in batch["s"]] == rows["s"]


@pytest.mark.parametrize("prefetch", [1, 3, "2MiB"])
def test_given_many_batches_and_work_on_each_then_none_is_overwritten(prefetch: Any) -> None:
    weights = torch.randn(256, 256, device="cuda")
    kept = []
    for batch in batches(200).as_torch(device="cuda", prefetch=prefetch):
        work = batch
        for _ in range(20):
            work = work @ weights
        kept.append(batch.mean() + 0 * work.sum().nan_to_num(0, 0, 0))
    assert [round(float(mean)) for mean in kept] == list(range(200))


def test_when_batches_are_copied_then_the_staging_is_pinned_on_the_ledger_and_given_back() -> None:
    it = iter(batches(50, rows=1024).as_torch(device="cuda", memory="64MiB"))
    first = next(it)
    from penstock.engine.handover import run_of

    ledger = run_of(it._elements).ledger  # type: ignore[attr-defined]
    account = ledger.account(f"to {first.device}")
    assert MIB <= account.held <= 2 * MIB + 8192
    slots = it._ahead._carrier._staging._slots  # type: ignore[attr-defined]
    assert slots and all(slot.is_pinned for slot in slots)
    assert torch.from_numpy(slots[0].memory).is_pinned()
    for _ in it:
        pass
    ledger.settle()
    assert account.held == 0 and ledger.held == 0
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("penstock-to")]


def test_given_a_bound_in_bytes_then_no_more_is_ready_on_the_device() -> None:
    it = iter(batches(60, rows=1024).as_torch(device="cuda", prefetch="3MiB"))
    for _ in it:
        torch.cuda.synchronize()
    assert MIB <= it.device_peak <= 3 * MIB


def test_given_a_user_ahead_of_the_gpu_then_the_memory_there_stays_bounded() -> None:
    weights = torch.randn(256, 256, device="cuda")
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    for batch in batches(200, rows=4096).as_torch(device="cuda", prefetch=2):
        work = batch
        for _ in range(30):
            work = work @ weights
        del work, batch
    # 4 MiB each: two ready, one on its way, a few with the user, and the products of the work.
    assert torch.cuda.max_memory_allocated() - before < 64 * MIB


def test_when_a_run_is_closed_early_then_no_thread_and_no_byte_is_left() -> None:
    with iter(batches(1000).as_torch(device="cuda")) as it:
        next(it)
    assert it.report().held == 0
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("penstock-to")]


def test_given_pin_memory_alone_then_tensors_on_the_cpu_are_pinned_and_lent() -> None:
    it = iter(batches(4).as_torch(pin_memory=True))
    kept = list(it)
    assert all(batch.is_pinned() and batch.device.type == "cpu" for batch in kept)
    assert [float(batch[0, 0]) for batch in kept] == [0, 1, 2, 3]
    assert it.report().lent_bytes >= 4 * 256 * 1024


def test_given_low_precision_then_the_bytes_arrive_as_they_are() -> None:
    kinds = pytest.importorskip("ml_dtypes")
    for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        rows = np.arange(8).astype(getattr(kinds, name))
        (batch,) = ps.Dataset.from_tensor_slices(rows).batch(8).as_torch(device="cuda")
        assert batch.dtype == getattr(torch, name)
        assert batch.float().tolist() == rows.astype(np.float32).tolist()


def test_given_a_failing_element_then_it_is_raised_in_its_place_and_the_rest_comes() -> None:
    def fails(x: Any) -> Any:
        if x == 2:
            raise ValueError("two")
        return np.full(4, x)

    it = iter(ps.Dataset.range(5).map(fails).as_torch(device="cuda"))
    seen: list[Any] = []
    while True:
        try:
            seen.append(int(next(it)[0]))
        except StopIteration:
            break
        except ps.errors.FunctionError:
            seen.append("failed")
    assert seen == [0, 1, "failed", 3, 4]


def test_when_a_pass_is_resumed_then_what_was_ready_but_not_given_comes_again() -> None:
    ds = ps.Dataset.range(100).shuffle(50, seed=1).batch(5)
    it = iter(ds.as_torch(device="cuda", prefetch=4))
    for _ in range(6):
        next(it)
    saved = it.state_dict()
    rest = [batch.tolist() for batch in it]
    again = ds.as_torch(device="cuda")
    again.load_state_dict(saved)
    assert [batch.tolist() for batch in again] == rest
