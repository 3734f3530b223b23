"""Iterations of a Penstock dataset that are begun, kept and never closed."""

# kind: penstock-runs
# line: 12
import penstock as ps

ds = ps.Dataset.range(1000).shuffle(100).batch(10)
begun = []
for epoch in range(150):
    it = iter(ds)
    first = next(it)
    begun.append(it)  # <-
print(len(begun))
