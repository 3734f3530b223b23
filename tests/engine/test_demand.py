"""How many rows to ask for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock.blocks.block import Block
from penstock.blocks.columns import DenseColumn
from penstock.blocks.structure import LEAF
from penstock.engine import demand
from penstock.engine.demand import MOST, Demand
from penstock.engine.meter import Meter
from penstock.graph.running import Running


class Source(Running):
    """Rows of so many bytes that take so long, by a clock of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, row_bytes: int, row_seconds: float) -> None:
        self.row_bytes = row_bytes
        self.row_seconds = row_seconds
        self.now = 0.0
        self.asked: list[int] = []
        monkeypatch.setattr(demand, "perf_counter", lambda: self.now)

    def pull(self, rows: int) -> Block:
        self.asked.append(rows)
        self.now += rows * self.row_seconds
        return Block(LEAF, [DenseColumn(np.zeros((rows, self.row_bytes), np.uint8))], rows)


def rows_for(row_bytes: int) -> int:
    return max(1, (1 << 20) // max(row_bytes, 1))


def pulled(source: Source, size: Demand, times: int = 12) -> list[int]:
    for _ in range(times):
        size.pull(source)
    return source.asked


def test_given_quick_rows_then_blocks_grow_until_they_have_their_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    meter = Meter()
    source = Source(monkeypatch, 100, 1e-9)
    assert pulled(source, Demand(rows_for, None, meter))[:6] == [1, 8, 64, 512, 4096, 10485]
    chosen = meter.chosen["rows a block"]
    assert (chosen.value, chosen.why) == (10485, "as many as fill a block")


def test_given_slow_rows_then_a_block_takes_about_ten_milliseconds(monkeypatch: pytest.MonkeyPatch) -> None:
    meter = Meter()
    source = Source(monkeypatch, 100, 1e-3)
    assert pulled(source, Demand(rows_for, None, meter))[-1] == pytest.approx(10, abs=2)
    assert meter.chosen["rows a block"].why == "they come within 10 ms"


@pytest.mark.parametrize("off", [0.9, 1.1])
def test_given_rows_that_take_a_little_more_or_less_then_the_size_stays(
    monkeypatch: pytest.MonkeyPatch, off: float
) -> None:
    source = Source(monkeypatch, 100, 1e-4)
    size = Demand(rows_for, None)
    pulled(source, size)
    settled = size.rows
    source.row_seconds *= off
    pulled(source, size)
    assert set(source.asked[-12:]) == {settled}


def test_when_rows_become_slower_then_blocks_become_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Source(monkeypatch, 100, 1e-5)
    size = Demand(rows_for, None)
    assert pulled(source, size)[-1] == pytest.approx(1000, rel=0.1)
    source.row_seconds = 1e-3
    assert pulled(source, size)[-1] <= 13


def test_when_the_first_row_has_cost_a_beginning_then_blocks_grow_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = Source(monkeypatch, 100, 3e-3)  # a buffer had to be filled
    size = Demand(rows_for, None)
    pulled(source, size, times=1)
    source.row_seconds = 1e-6
    assert pulled(source, size, times=4) == [1, 3, 24, 192, 1536]


def test_when_rows_grow_then_the_very_next_block_has_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Source(monkeypatch, 100, 1e-9)
    size = Demand(rows_for, None)
    pulled(source, size)
    source.row_bytes = 1 << 19
    pulled(source, size, times=1)
    assert size.rows == 2


def test_given_a_fixed_number_then_it_is_always_that(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Source(monkeypatch, 8, 1.0)
    assert set(pulled(source, Demand(rows_for, 7))) == {7}


def test_given_rows_of_no_size_then_blocks_have_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(_: int) -> int:
        return 1 << 40

    source: Any = Source(monkeypatch, 0, 0.0)
    assert pulled(source, Demand(endless, None))[-1] == MOST
