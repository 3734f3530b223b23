"""Ops are added to a graph of one's own at every step."""

# kind: tf-graph
# line: 11
import tensorflow as tf

graph = tf.Graph()
with graph.as_default(), tf.compat.v1.Session(graph=graph) as sess:
    x = tf.compat.v1.placeholder(tf.float32, [4])
    for step in range(600):
        scaled = x * float(step)  # <-
        out = sess.run(scaled, {x: [1.0, 2.0, 3.0, 4.0]})
print(out)
