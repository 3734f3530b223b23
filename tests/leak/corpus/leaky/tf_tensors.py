"""Tensors of every step are kept."""

# kind: tf-tensors
# line: 13
import tensorflow as tf


class History:
    def __init__(self):
        self.records = {"loss": []}

    def add(self, loss):
        self.records["loss"].append(loss)  # <-


history = History()
w = tf.Variable(tf.ones([64, 64]))
for step in range(2500):
    loss = tf.square(w) * float(step % 5)
    history.add(loss)
print(len(history.records["loss"]))
