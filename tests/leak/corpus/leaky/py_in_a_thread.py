"""The main thread waits, and another trains."""

# kind: growing-container
# line: 18
import threading
import time

import numpy as np


class Trainer:
    def __init__(self):
        self.seen = {}

    def run(self, steps):
        for step in range(steps):
            x = np.random.rand(2000)
            self.seen[step] = x  # <-
            time.sleep(0.001)


trainer = Trainer()
thread = threading.Thread(target=trainer.run, args=(2000,))
thread.start()
thread.join()
print(len(trainer.seen))
