"""Remedies for TensorFlow and Keras."""

from __future__ import annotations

from penstock.doctor.remedies import Remedy

REMEDIES = [
    Remedy(
        "tf-graph",
        "Ops are added to a TensorFlow graph at every step",
        "In graph mode every call such as `tf.constant` adds ops to the graph, and a graph forgets nothing.",
        "Build the graph once before the loop, and feed values into it. `graph.finalize()` makes the "
        "line that adds "
        "to it raise.",
        "x = tf.compat.v1.placeholder(tf.int32, [None])\ny = tf.square(x)  # once, before the loop\n"
        "for batch in data:\n    sess.run(y, {x: batch})",
    ),
    Remedy(
        "tf-retracing",
        "A tf.function is traced again and again",
        "A `tf.function` keeps a graph for every new shape, dtype or Python number that it is called "
        "with; one that "
        "is made in the loop and kept has its own graphs.",
        "Make it once, pass numbers as tensors, and give shapes that vary an `input_signature` with None.",
        "@tf.function(input_signature=[tf.TensorSpec([None, 8], tf.float32)])\ndef step(x): ...\n\n\n"
        "step(tf.constant(i))  # was: step(i)",
    ),
    Remedy(
        "tf-variables",
        "TensorFlow variables pile up",
        "Each `tf.Variable` has memory of its own for as long as something refers to it.",
        "Make it once before the loop and give it new values with `assign`.",
        "v = tf.Variable(tf.zeros([100, 100]))  # once\nfor x in data:\n    v.assign(x)",
    ),
    Remedy(
        "tf-tensors",
        "TensorFlow tensors are kept",
        "A tensor that is kept keeps its memory, on the device too; a tape that is kept keeps all "
        "that it recorded.",
        "Keep a number: `float(loss)`, or `loss.numpy()` of what is small.",
        "losses.append(float(loss))  # was: losses.append(loss)",
    ),
    Remedy(
        "tf-datasets",
        "Datasets or their iterators are made again and again",
        "Each dataset over Python code registers functions that TensorFlow keeps; each iterator that "
        "is kept has "
        "buffers and threads of its own.",
        "Build the dataset once before the loop and iterate over it again.",
        "ds = tf.data.Dataset.from_generator(...)  # once\nfor epoch in range(epochs):\n    "
        "for x in ds:\n        ...",
    ),
    Remedy(
        "keras-models",
        "Keras models are built again and again",
        "TensorFlow's gradient registry keeps the graph of every model that was trained, even after "
        "the model is "
        "gone; layers and models that are kept have their weights.",
        "Build the model once and give it fresh weights, or train each in a process of its own.",
        "model = build()  # once\nfresh = model.get_weights()\nfor trial in trials:\n    "
        "model.set_weights(fresh)\n"
        "    model.fit(...)",
    ),
]
