"""Each job adds a handler to the same logger."""

# kind: growing-container
# line: 16
import io
import logging
import numpy as np

sink = io.StringIO()


class Job:
    def __init__(self, k):
        self.logger = logging.getLogger("job")
        self.data = np.zeros(2000)
        self.logger.addHandler(logging.StreamHandler(sink))  # <-

    def run(self):
        return float((self.data + 1).mean())


total = 0.0
for k in range(5000):
    total += Job(k).run()
