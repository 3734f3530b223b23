"""A function is called with a new shape each time."""

# kind: tf-retracing
# line: 19
import numpy as np
import tensorflow as tf


@tf.function
def embed(batch):
    h = tf.tanh(batch) * 2.0
    return tf.reduce_mean(h)


def train():
    out = 0.0
    for length in range(1, 90):
        batch = np.ones([4, length], np.float32)
        out += float(embed(batch))  # <-
    return out


print(train())
