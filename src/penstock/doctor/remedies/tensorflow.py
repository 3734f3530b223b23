"""Remedies for TensorFlow and Keras."""

from __future__ import annotations

from penstock.doctor.remedies import DICTS, Remedy

REMEDIES = [
    Remedy(
        kind="tf-graph",
        title="Ops are added to a TensorFlow graph at every step",
        why=(
            "In graph mode every call such as `tf.constant` adds ops to the graph, and a graph forgets "
            "nothing."
        ),
        fix=(
            "Build the graph once before the loop, and feed values into it. `graph.finalize()` makes the "
            "line that adds to it raise."
        ),
        sample=(
            "x = tf.compat.v1.placeholder(tf.int32, [None])\n"
            "y = tf.square(x)  # once, before the loop\n"
            "for batch in data:\n"
            "    sess.run(y, {x: batch})"
        ),
        bad=(
            "tf.compat.v1.disable_eager_execution()\n"
            "for batch in data:\n"
            "    y = tf.square(tf.constant(batch))  # new ops\n"
            "    sess.run(y)"
        ),
        seen="The number of ops in the default graph, and graphs that a name of yours leads to.",
        other="In eager mode the same lines leave nothing behind.",
    ),
    Remedy(
        kind="tf-retracing",
        title="A tf.function is traced again and again",
        why=(
            "A `tf.function` keeps a graph for every new shape, dtype or Python number that it is called "
            "with; one that is made in the loop and kept has its own graphs."
        ),
        fix=(
            "Make it once, pass numbers as tensors, and give shapes that vary an `input_signature` with None."
        ),
        sample=(
            "@tf.function(input_signature=[tf.TensorSpec([None, 8], tf.float32)])\n"
            "def step(x): ...\n"
            "\n"
            "\n"
            "step(tf.constant(i))  # was: step(i)"
        ),
        bad=(
            "@tf.function\n"
            "def step(x, factor): ...\n"
            "\n"
            "\n"
            "for i in range(steps):\n"
            "    step(x, i)  # a trace for every i"
        ),
        seen=(
            "The number of functions that TensorFlow's runtime knows, and the tracing count of each "
            "`tf.function`."
        ),
        other=(
            "A `tf.function` that is made in the loop and dropped is traced anew each time but freed: the "
            "report mentions it as waste."
        ),
    ),
    Remedy(
        kind="tf-variables",
        title="TensorFlow variables pile up",
        why="Each `tf.Variable` has memory of its own for as long as something refers to it.",
        fix="Make it once before the loop and give it new values with `assign`.",
        sample="v = tf.Variable(tf.zeros([100, 100]))  # once\nfor x in data:\n    v.assign(x)",
        bad="for step in range(steps):\n    kept.append(tf.Variable(tf.zeros([100, 100])))",
        seen="Variables that a container of yours keeps.",
        other=(
            "A variable that is made at every step and dropped is freed: the report mentions it as waste, "
            "with its line."
        ),
    ),
    Remedy(
        kind="tf-tensors",
        title="TensorFlow tensors are kept",
        why=(
            "A tensor that is kept keeps its memory, on the device too; a tape that is kept keeps all that "
            "it recorded."
        ),
        fix="Keep a number: `float(loss)`, or `loss.numpy()` of what is small.",
        sample="losses.append(float(loss))  # was: losses.append(loss)",
        name="losses",
        samples=dict.fromkeys(DICTS, "losses[key] = float(loss)  # was: losses[key] = loss"),
        bad="losses.append(loss)  # an EagerTensor",
        seen="Tensors, and tapes, that a container of yours keeps.",
        other="`float(loss)` keeps a number.",
    ),
    Remedy(
        kind="tf-datasets",
        title="Datasets or their iterators are made again and again",
        why=(
            "Each dataset over Python code registers functions that TensorFlow keeps; each iterator that is "
            "kept has buffers and threads of its own."
        ),
        fix="Build the dataset once before the loop and iterate over it again.",
        sample=(
            "ds = tf.data.Dataset.from_generator(...)  # once\n"
            "for epoch in range(epochs):\n"
            "    for x in ds:\n"
            "        ..."
        ),
        bad=(
            "for epoch in range(epochs):\n"
            "    ds = tf.data.Dataset.from_generator(...)\n"
            "    for x in ds:\n"
            "        ..."
        ),
        seen=(
            "TensorFlow's registry of Python functions (`script_ops._py_funcs`), datasets and iterators that "
            "a container of yours keeps, and how many datasets are behind one: `ds = ds.map(f)` in a loop."
        ),
        other="One dataset that is iterated over in every epoch is fine.",
    ),
    Remedy(
        kind="keras-models",
        title="Keras models are built again and again",
        why=(
            "TensorFlow's gradient registry keeps the graph of every model that was trained, even after the "
            "model is gone; layers and models that are kept have their weights."
        ),
        fix="Build the model once and give it fresh weights, or train each in a process of its own.",
        sample=(
            "model = build()  # once\n"
            "fresh = model.get_weights()\n"
            "for trial in trials:\n"
            "    model.set_weights(fresh)\n"
            "    model.fit(...)"
        ),
        bad="for trial in trials:\n    model = build()\n    model.fit(...)",
        seen=(
            "TensorFlow's registry of gradients, `ops.gradient_registry._registry`, and models and layers "
            "that a container of yours keeps. The registry keeps a graph for every model that was trained, "
            "though the model itself is gone: "
            "[tensorflow#97697](https://github.com/tensorflow/tensorflow/issues/97697), "
            "[keras#20245](https://github.com/keras-team/keras/issues/20245)."
        ),
        other="`model.predict` in a loop stays flat with Keras 3.",
    ),
]
