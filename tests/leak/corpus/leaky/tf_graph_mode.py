"""Seed sample: ops are made in a loop, in graph mode."""

# kind: tf-graph
# line: 11
import tensorflow as tf

tf.compat.v1.disable_eager_execution()

for i in range(120):
    with tf.compat.v1.Session() as sess:
        x = tf.constant(list(range(2000)))  # <-
        y = tf.square(x)
        result = sess.run(y)
print(result[3])
