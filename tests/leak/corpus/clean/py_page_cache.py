"""A large file is mapped and read: pages of files are not memory that is lost."""

import mmap
import os
import tempfile

with tempfile.NamedTemporaryFile() as file:
    file.truncate(300 << 20)
    with open(file.name, "rb") as again:
        mapped = mmap.mmap(again.fileno(), 0, access=mmap.ACCESS_READ)
        total = 0
        for step in range(3000):
            at = step * 100_000
            total += sum(mapped[at : at + 100_000 : 50])
        mapped.close()
print(total, os.getpid() > 0)
