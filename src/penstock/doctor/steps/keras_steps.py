"""Steps of Keras: the batches that `fit` trains on."""

from __future__ import annotations

import sys
from collections.abc import Callable

from penstock.doctor.steps import Source, Tick, wrapped


def _batches(tick: Tick) -> Callable[[], None]:
    return wrapped(sys.modules["keras.src.callbacks.callback_list"].CallbackList, "on_train_batch_end", tick)


SOURCES = [Source("training batches", 2, "keras.src.callbacks.callback_list", _batches)]
