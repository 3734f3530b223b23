"""One dataset, iterated over in many epochs."""

import tensorflow as tf

ds = tf.data.Dataset.range(64).shuffle(64).batch(8).prefetch(1)
total = 0
for epoch in range(60):
    for batch in ds:
        total += int(tf.reduce_sum(batch))
print(total)
