"""One model that is fitted for many epochs."""

import keras
import numpy as np

x = np.random.rand(128, 16).astype("float32")
y = np.random.rand(128, 1).astype("float32")
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
history = model.fit(x, y, batch_size=8, epochs=60, verbose=0)
print(len(history.history["loss"]))
