"""Iterators that are begun and kept."""

# kind: tf-datasets
# line: 12
import tensorflow as tf

ds = tf.data.Dataset.range(1000).shuffle(500).batch(10).prefetch(2)
open_iterators = []
for step in range(200):
    it = iter(ds)
    first = next(it)
    open_iterators.append(it)  # <-
print(len(open_iterators))
