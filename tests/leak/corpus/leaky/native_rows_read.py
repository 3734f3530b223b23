"""Steps are stored in a database in memory that nobody empties; some rows are read at every step."""

# kind: native-memory
# line: 16
import sqlite3

import numpy as np


class Store:
    def __init__(self):
        self.db = sqlite3.connect(":memory:")
        self.db.execute("create table steps (step integer primary key, reward real, seen blob)")

    def add(self, step, reward, seen):
        self.db.execute("insert into steps values (?, ?, ?)", (step, reward, seen.tobytes()))  # <-

    def sample(self, rng, newest):
        picks = rng.integers(0, newest + 1, 8).tolist()
        rows = self.db.execute(f"select reward, seen from steps where step in {(*picks,)}").fetchall()
        rewards = np.array([reward for reward, _ in rows])
        return rewards, np.stack([np.frombuffer(seen, np.float32) for _, seen in rows])


def main():
    rng = np.random.default_rng(0)
    store, weights = Store(), np.zeros(20_000, np.float32)
    for step in range(1500):
        seen = rng.random(20_000, dtype=np.float32)
        store.add(step, float(seen.mean()), seen)
        rewards, batch = store.sample(rng, step)
        for _ in range(6):
            off = batch @ weights - rewards
            weights -= 1e-5 * (batch.T @ off).astype(np.float32)


main()
