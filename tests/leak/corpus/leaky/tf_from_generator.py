"""A dataset over a generator is made in every epoch."""

# kind: tf-datasets
# line: 15
import tensorflow as tf


def numbers():
    for i in range(4):
        yield i


total = 0
for epoch in range(150):
    ds = tf.data.Dataset.from_generator(numbers, output_signature=tf.TensorSpec((), tf.int32))  # <-
    for x in ds:
        total += int(x)
print(total)
