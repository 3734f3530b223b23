"""Seed sample: a variable is made at every step, and dropped."""

import tensorflow as tf

for i in range(400):
    with tf.GradientTape() as tape:
        var = tf.Variable(tf.random.normal([100, 100]))
        loss = tf.reduce_sum(var)
        grads = tape.gradient(loss, var)
print(float(loss))
