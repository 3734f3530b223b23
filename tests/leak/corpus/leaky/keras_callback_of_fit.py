"""A callback that only `fit` refers to keeps an array at every batch."""

# kind: growing-container
# line: 20
import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np


class KeepPredictions(keras.callbacks.Callback):
    def __init__(self, x):
        super().__init__()
        self.x = x
        self.seen = []

    def on_train_batch_end(self, batch, logs=None):
        out = np.asarray(self.model(self.x, training=False))
        self.seen.append(out)  # <-


def main():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(640, 16)).astype("float32"), rng.normal(size=(640, 1)).astype("float32")
    model = keras.Sequential(
        [keras.Input((16,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1)]
    )
    model.compile("sgd", "mse", run_eagerly=False)
    model.fit(x, y, epochs=30, batch_size=32, verbose=0, callbacks=[KeepPredictions(x)])


if __name__ == "__main__":
    main()
