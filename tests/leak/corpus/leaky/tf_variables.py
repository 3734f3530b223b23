"""A variable is made at every step, and kept."""

# kind: tf-variables
# line: 10
import tensorflow as tf

ema = []
for step in range(400):
    value = tf.Variable(tf.random.normal([100, 100]))
    ema.append(value)  # <-
    tf.reduce_sum(value)
print(len(ema))
