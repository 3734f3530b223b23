"""A buffer of bytes that is written to and never read."""

# kind: growing-buffer
# line: 11
import io
import pickle

buffer = io.BytesIO()
for step in range(60000):
    record = {"step": step, "values": [float(i * step) for i in range(60)]}
    pickle.dump(record, buffer)  # <-
print(buffer.tell())
