"""Remedies for what a process has: memory outside of Python, descriptors, threads, children."""

from __future__ import annotations

from penstock.doctor.remedies import Remedy

REMEDIES = [
    Remedy(
        "native-memory",
        "Memory outside of Python grows",
        "A native library was asked for memory that was never given back; no Python object accounts for it.",
        "Free what the call returns, close the object that it is on, or call it once instead of at "
        "every step.",
        "handle = lib.make()\ntry:\n    use(handle)\nfinally:\n    lib.free(handle)",
    ),
    Remedy(
        "file-descriptors",
        "Files are opened and never closed",
        "Each open file, socket or pipe is a descriptor, and a process may have only so many.",
        "Use `with`, so that it is closed whatever happens.",
        "with open(path) as file:  # was: file = open(path)\n    data = file.read()",
    ),
    Remedy(
        "threads",
        "Threads are started and never end",
        "Each thread has a stack, and all that its function refers to.",
        "Start the threads once, or end each before the next is started.",
        "with ThreadPoolExecutor(4) as pool:  # once, outside of the loop\n    for batch in data:\n"
        "        pool.submit(work, batch)",
    ),
    Remedy(
        "shared-memory",
        "Shared memory grows",
        "A shared segment stays until it is closed everywhere and unlinked, even after the process "
        "has ended.",
        "Close it and unlink it, or use one segment again.",
        "segment.close()\nsegment.unlink()",
    ),
    Remedy(
        "child-processes",
        "Child processes pile up",
        "A child that has ended stays as a zombie until its parent has waited for it; one that has "
        "not ended runs on.",
        "Wait for it, or use one pool of processes for the whole run.",
        "process = subprocess.Popen(command)\nprocess.wait()",
    ),
    Remedy(
        "child-memory",
        "The memory of worker processes grows",
        "Each worker has its own copy of the dataset object; what its methods keep is kept in every worker.",
        "Keep nothing on the dataset in `__getitem__`; open files there and close them.",
        "def __getitem__(self, i):\n    return load(self.paths[i])  # was: self.cache[i] = load(...)",
    ),
]
