"""TensorFlow, eager mode: a loop over tensors that needs no `del`.

Every tensor goes when its name is given to the next one, and the memory of a batch goes back to the run's
pool, where the next batch takes it.
"""

from __future__ import annotations

import tensorflow as tf
from _memory import held

import penstock as ps

if __name__ == "__main__":
    dataset = ps.Dataset.range(10_000).batch(10_000).repeat(1_000).as_tensorflow()
    total = 0
    for number, x in enumerate(dataset):
        y = tf.square(x)
        total += int(tf.reduce_sum(y))
        if number % 200 == 0:
            print(f"tensor {number:3} of {len(dataset)}: {held()}", flush=True)
    print(f"sum of squares {total:,}")
