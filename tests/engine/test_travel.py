"""Which modules a function needs that goes to a worker process."""

from __future__ import annotations

import colorsys
import fractions
from typing import Any

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
