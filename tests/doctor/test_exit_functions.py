"""Functions that are to be called at the end of the program are counted."""

from __future__ import annotations

import atexit
from types import SimpleNamespace

from penstock.doctor.signals import Look, signals


def test_when_a_function_is_registered_for_the_end_then_there_is_one_more() -> None:
    signal = next(one for one in signals() if one.key == "python.atexit")
    trial = SimpleNamespace()

    def close() -> object:
        return trial

    before = signal.value(Look())
    atexit.register(close)
    try:
        after = signal.value(Look())
    finally:
        atexit.unregister(close)
    assert before is not None and after == before + 1
