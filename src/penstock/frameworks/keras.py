"""`Dataset.as_keras`: a dataset for `fit`, `evaluate` and `predict`, on any backend of Keras."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache
from types import FrameType
from typing import Any

import numpy as np

from penstock.blocks.ragged import Ragged
from penstock.blocks.structure import structure_of
from penstock.errors import ArgumentError, ArgumentTypeError
from penstock.frameworks.counted import counted
from penstock.frameworks.declared import Declared
from penstock.frameworks.tensorflow import as_tensorflow
from penstock.graph.op import INFINITE
from penstock.io.formats.optional import optional
from penstock.site import user_site

ADAPTER = "keras.src.trainers.data_adapters.data_adapter"
"""Where Keras has the class that it takes data through; from version 3.7 on it takes one of others."""


def as_keras(dataset: Declared) -> Any:
    """The dataset as Keras takes it, whatever its backend."""
    optional("keras", "keras")
    call = f"as_keras at {user_site()}"
    _check_batches(dataset, call)
    return _adapter(optional(ADAPTER, "keras").DataAdapter)(dataset, call)


@cache
def _adapter(base: type) -> Callable[[Declared, str], Any]:
    """The class of what Keras is given: `Batches`, as one of the adapters that Keras knows."""
    return type("KerasBatches", (Batches, base), {})


class Batches:
    """The batches of a dataset, for Keras: every epoch is a run, which ends when Keras lets go of it."""

    def __init__(self, dataset: Declared, call: str) -> None:
        self._dataset = dataset
        self._call = call
        self._tensorflow: Any = None
        self._spare: list[int] = []

    # What Keras asks for, each on one of its backends

    def get_numpy_iterator(self) -> Iterator[Any]:
        """An epoch of batches of arrays."""
        return self._epoch(_array)

    def get_jax_iterator(self) -> Iterator[Any]:
        """An epoch of batches of arrays, which JAX takes as they are."""
        return self._epoch(_array)

    def get_torch_dataloader(self) -> Iterator[Any]:
        """An epoch of batches of torch's tensors, on the device of Keras."""
        return self._epoch(_torch_tensor)

    def get_tf_dataset(self) -> Any:
        """A `tf.data.Dataset`, an iteration over which is an epoch."""
        if self._tensorflow is None:
            self._tensorflow = as_tensorflow(self._dataset)
        return self._tensorflow

    @property
    def num_batches(self) -> int | None:
        """How many batches an epoch has; None if that is not known, or there is no end."""
        asking = sys._getframe(1)
        _refuse_what_is_left_out(asking)
        count = self._dataset.cardinality()
        if count == INFINITE:
            self._refuse_no_end(asking)
        return None if count < 0 else count

    def _refuse_no_end(self, asking: FrameType) -> None:
        """Raise where Keras was not told how many steps make an epoch: it would go on for ever."""
        if getattr(asking.f_locals.get("self"), "steps_per_epoch", 1) is None:
            raise ArgumentError(
                f"{self._call}: the dataset is endless, and Keras was not told how many steps an epoch has: "
                f"it would never end. Give fit() a steps_per_epoch, evaluate() and predict() steps, and data "
                f"for validation validation_steps; or leave the repeat() out, as Keras repeats by itself."
            )

    @property
    def batch_size(self) -> int | None:
        """Not said: batches may differ."""
        return None

    @property
    def has_partial_batch(self) -> bool | None:
        """Not said."""
        return None

    @property
    def partial_batch_size(self) -> int | None:
        """Not said."""
        return None

    def on_epoch_begin(self) -> None:
        """Nothing to do: the run starts with the first batch."""

    def on_epoch_end(self) -> None:
        """Nothing to do: with `steps_per_epoch`, Keras goes on in the same run."""

    def _epoch(self, convert: Callable[[Any], Any]) -> Iterator[Any]:
        """One run, as a generator: it starts with the first batch asked for, and ends when dropped."""
        epoch = self._spare.pop() if self._spare else self._dataset._next_epoch()
        given = 0
        try:
            with counted(self._dataset, epoch) as batches:
                for batch in batches:
                    structure = structure_of(batch, top=False)
                    made = [convert(leaf) for leaf in structure.flatten(batch)]
                    del batch
                    given += 1
                    yield structure.unflatten(made)
                    del made
        finally:
            # Keras looks at one batch to build a model: that is no epoch.
            if given <= 1 and given != self._dataset.cardinality():
                self._spare.append(epoch)


def _array(leaf: Any) -> Any:
    if isinstance(leaf, Ragged):
        raise ArgumentTypeError(
            "as_keras: a Ragged goes to Keras on TensorFlow alone. Use padded_batch instead of ragged_batch."
        )
    return np.asarray(leaf)


def _torch_tensor(leaf: Any) -> Any:
    array = _array(leaf)
    # torch warns of read-only memory: it has no such tensors.
    return optional("keras", "keras").ops.convert_to_tensor(array if array.flags.writeable else array.copy())


def _check_batches(dataset: Declared, call: str) -> None:
    spec = dataset.op.spec
    if spec is None:
        return  # only the data would tell
    for path, leaf in zip(spec.structure.paths(), spec.leaves, strict=True):
        if leaf.shape == ():
            raise ArgumentError(
                f"{call}: expected batches, got single elements: {path or 'each'} has no axis. Add .batch(n)."
            )
    if spec.structure.kind is not dict and len(spec.structure.children) > 3:
        raise ArgumentError(
            f"{call}: expected x, (x, y) or (x, y, sample_weight), got a tuple of "
            f"{len(spec.structure.children)}. Several inputs are a dict or a tuple in the place of x."
        )


def _refuse_what_is_left_out(frame: FrameType) -> None:
    """Raise where Keras was given something beside the dataset: it says nothing of leaving it out.

    What it was given are the arguments of the function that asks for the number of batches.
    """
    for name in ("y", "sample_weight", "class_weight"):
        if frame.f_locals.get(name) is not None:
            raise ArgumentError(
                f"{name}= was given to Keras beside a dataset of Penstock, which brings along all there is. "
                f"Make it part of the elements: ds.map(lambda x, y: (x, y, weights[y])) before batch()."
            )
