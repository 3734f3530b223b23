"""Which modules a function needs that goes to a worker process."""

from __future__ import annotations

import colorsys
import fractions
import sys
from typing import Any

import pytest

from engine.leftovers import descriptors
from penstock.engine.processes import travel
from penstock.engine.processes.travel import Packing

WORDS = {"wave": 1, "sched": 2}
HALF = fractions.Fraction(1, 2)


def test_modules_are_those_that_are_referred_to_and_imported_and_none_of_which_data_has_the_name() -> None:
    import sched
    import wave

    def function(x: Any) -> Any:
        import tabnanny

        return colorsys.rgb_to_hls(x, 0, 0), HALF, WORDS[x], tabnanny

    import tabnanny

    assert tabnanny and wave and sched
    function.__module__ = "__main__"
    found = Packing([function], by_value=[__name__]).modules()
    assert {"colorsys", "fractions", "tabnanny"} <= set(found)
    assert not {"wave", "sched", "__main__"} & set(found)


def test_what_does_not_say_where_it_is_from_is_looked_for() -> None:
    from scipy.special import expit

    assert getattr(expit, "__module__", None) is None
    found = Packing([lambda x: expit(x)]).modules()
    assert any(getattr(sys.modules[name], "expit", None) is expit for name in found)


@pytest.mark.parametrize("what", ["ftruncate", "mmap"])
def test_given_no_memory_for_functions_then_nothing_is_left(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> Any:
        raise OSError("no memory")

    packing = Packing([len])
    before = descriptors()
    monkeypatch.setattr(*((travel.os, what) if what == "ftruncate" else (travel.mmap, what)), fails)
    with pytest.raises(OSError, match="no memory"):
        packing.write()
    assert descriptors() <= before
