"""A method adds ops to the graph, at every fifth step."""

# kind: tf-graph
# line: 27
import argparse
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


class Trainer:
    def __init__(self, sess):
        self.sess = sess
        self.x = tf.placeholder(tf.float32, [None, 16])
        self.w = tf.get_variable("w", [16, 1])
        self.pred = tf.matmul(self.x, self.w)
        self.loss = tf.reduce_mean(tf.square(self.pred - 1.0))
        self.train_op = tf.train.GradientDescentOptimizer(0.01).minimize(self.loss)
        sess.run(tf.global_variables_initializer())

    def step(self, batch):
        _, loss = self.sess.run([self.train_op, self.loss], {self.x: batch})
        return loss

    def accuracy(self, batch):
        acc = tf.reduce_mean(tf.cast(self.pred > 0.5, tf.float32))  # <-
        return self.sess.run(acc, {self.x: batch})


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=400)
    args = p.parse_args()
    rng = np.random.default_rng(0)
    with tf.Session() as sess:
        t = Trainer(sess)
        for step in range(args.steps):
            batch = rng.normal(size=(32, 16)).astype("float32")
            t.step(batch)
            if step % 5 == 0:
                t.accuracy(batch)


if __name__ == "__main__":
    main()
