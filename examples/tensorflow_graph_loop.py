"""TensorFlow, graph mode: the graph is built once and the data comes from outside.

Constants made inside the loop would be nodes that the graph keeps for ever. Here the loop makes none: it
feeds batches, and `finalize()` would raise if anything were added.
"""

from __future__ import annotations

import tensorflow as tf
from _memory import held

import penstock as ps

if __name__ == "__main__":
    dataset = ps.Dataset.range(10_000).batch(1_000).repeat(200)
    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.int64, [None])
        y = tf.reduce_sum(tf.square(x))
    graph.finalize()

    total = 0
    with tf.compat.v1.Session(graph=graph) as session, dataset.iterate() as batches:
        for number, batch in enumerate(batches):
            total += int(session.run(y, {x: batch}))
            if number % 250 == 0:
                nodes = len(graph.get_operations())
                print(f"batch {number:4}: {nodes} nodes in the graph, {held()}", flush=True)
    print(f"sum of squares {total:,}")
