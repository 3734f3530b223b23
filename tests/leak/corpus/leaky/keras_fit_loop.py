"""A model is built and fitted in every trial."""

# kind: keras-models
# line: 13
import keras
import numpy as np

x = np.random.rand(32, 8).astype("float32")
y = np.random.rand(32, 1).astype("float32")
for trial in range(24):
    model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(x, y, batch_size=16, epochs=1, verbose=0)  # <-
print(trial)
