"""A file is opened and closed at every step."""

import os
import tempfile

folder = tempfile.mkdtemp()
path = os.path.join(folder, "x.bin")
with open(path, "wb") as file:
    file.write(bytes(100_000))
total = 0
for step in range(20000):
    with open(path, "rb") as file:
        total += len(file.read())
os.unlink(path)
os.rmdir(folder)
print(total)
