"""Seed sample: the same work in eager mode."""

import tensorflow as tf

for i in range(2500):
    x = tf.constant(list(range(2000)))
    y = tf.square(x)
    result = y.numpy()
    del x, y
print(result[3])
