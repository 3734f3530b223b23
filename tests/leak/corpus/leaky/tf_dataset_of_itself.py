"""Each epoch puts one more step upon the dataset of the epoch before."""

# kind: tf-datasets
# line: 16
import tensorflow as tf


class Pipeline:
    def __init__(self):
        self.ds = tf.data.Dataset.range(16).batch(4)


def train(epochs):
    pipeline, total = Pipeline(), 0
    for _epoch in range(epochs):
        pipeline.ds = pipeline.ds.map(lambda x: x + 1, num_parallel_calls=2)  # <-
        for x in pipeline.ds:
            total += int(x[0])
    return total


print(train(60))
