"""A function is called with Python numbers: a trace each."""

# kind: tf-retracing
# line: 16
import tensorflow as tf


@tf.function
def scale(x, factor):
    return tf.reduce_sum(x * factor)


x = tf.ones([64])
total = 0.0
for step in range(80):
    total += float(scale(x, step))  # <-
print(total)
