"""TensorFlow, variables: made once before the loop, and changed in it.

A variable made for every batch is state made for every batch. Here there is one, which every batch is
taken off; the number of live variables is counted to show it.
"""

from __future__ import annotations

import gc

import numpy as np
import tensorflow as tf
from _memory import held

import penstock as ps


def live_variables() -> int:
    """How many variables there are in this process."""
    return sum(isinstance(thing, tf.Variable) for thing in gc.get_objects())


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    dataset = ps.Dataset.from_tensor_slices(rng.normal(3, 1, (1000, 100, 10)).astype(np.float32))
    centre = tf.Variable(tf.zeros([10]))
    for number, points in enumerate(dataset.as_tensorflow()):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(points - centre))
        centre.assign_sub(tape.gradient(loss, centre))
        if number % 200 == 0:
            print(
                f"batch {number:3}: loss {float(loss):.3f}, variables: {live_variables()}, {held()}",
                flush=True,
            )
    print(f"the centre is {np.round(centre.numpy().mean(), 2)}")
