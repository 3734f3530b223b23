"""The main thread waits, and another trains with what it needs again and again."""

import threading
import time

import numpy as np

last = {}


def run(steps):
    for step in range(steps):
        last[step % 20] = np.random.rand(2000)
        time.sleep(0.001)


thread = threading.Thread(target=run, args=(1500,))
thread.start()
thread.join()
print(len(last))
