"""A database in memory that gets more and more rows."""

# kind: native-memory
# line: 10
import sqlite3

base = sqlite3.connect(":memory:")
base.execute("create table log (step integer, text text)")
for step in range(60000):
    base.execute("insert into log values (?, ?)", (step, "x" * 1500))  # <-
    if step % 100 == 0:
        base.execute("select count(*) from log").fetchone()
base.close()
