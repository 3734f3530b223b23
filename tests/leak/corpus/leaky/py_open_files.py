"""Files that are opened, kept and never closed."""

# kind: file-descriptors
# line: 16
import os
import tempfile
import time

folder = tempfile.mkdtemp()
path = os.path.join(folder, "shard.bin")
with open(path, "wb") as file:
    file.write(bytes(4096))

handles = []
for step in range(220):
    file = open(path, "rb")  # <-
    handles.append(file)
    header = file.read(16)
    time.sleep(0.005)
print(len(handles))
