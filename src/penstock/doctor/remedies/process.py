"""Remedies for what a process has: memory outside of Python, descriptors, threads, children."""

from __future__ import annotations

from penstock.doctor.remedies import Remedy

REMEDIES = [
    Remedy(
        kind="native-memory",
        title="Memory outside of Python grows",
        why=(
            "A native library was asked for memory that was never given back; no Python object accounts for "
            "it."
        ),
        fix=(
            "Free what the call returns, close the object that it is on, or call it once instead of at "
            "every step."
        ),
        sample="handle = lib.make()\ntry:\n    use(handle)\nfinally:\n    lib.free(handle)",
        bad="for step in range(steps):\n    handle = lib.make(1 << 20)  # and no lib.free(handle)",
        seen=(
            "The heap of the C library that is in use (`mallinfo2`), and anonymous resident pages. The line "
            "is the one at which they grow, less what other lines give back."
        ),
        other="What the allocator keeps free (`fordblks`) and pages of files are not counted.",
    ),
    Remedy(
        kind="file-descriptors",
        title="Files are opened and never closed",
        why="Each open file, socket or pipe is a descriptor, and a process may have only so many.",
        fix="Use `with`, so that it is closed whatever happens.",
        sample="with open(path) as file:  # was: file = open(path)\n    data = file.read()",
        bad="for path in paths:\n    file = open(path)\n    files.append(file)",
        seen="The entries of `/proc/self/fd`. The forecast is against the limit of open files (`ulimit -n`).",
        other=(
            "A file that Python closes because nothing refers to it any more is no finding, though a `with` "
            "is better."
        ),
    ),
    Remedy(
        kind="threads",
        title="Threads are started and never end",
        why="Each thread has a stack, and all that its function refers to.",
        fix="Start the threads once, or end each before the next is started.",
        sample=(
            "with ThreadPoolExecutor(4) as pool:  # once, outside of the loop\n"
            "    for batch in data:\n"
            "        pool.submit(work, batch)"
        ),
        bad="for step in range(steps):\n    Thread(target=wait_for_ever, daemon=True).start()",
        seen="`threading.active_count()` and `/proc/self/task`, where threads of native libraries are too.",
        other=(
            "Pools that are filled once, and the threads that TensorFlow and torch start at first, are "
            "warm-up."
        ),
    ),
    Remedy(
        kind="shared-memory",
        title="Shared memory grows",
        why=(
            "A shared segment stays until it is closed everywhere and unlinked, even after the process has "
            "ended."
        ),
        fix="Close it and unlink it, or use one segment again.",
        sample="segment.close()\nsegment.unlink()",
        bad="for step in range(steps):\n    segments.append(SharedMemory(create=True, size=n))",
        seen=(
            "Resident pages of shared memory, and segments in `/dev/shm` that a line of the script was seen "
            "to make."
        ),
        other="Segments of other processes are not counted.",
    ),
    Remedy(
        kind="child-processes",
        title="Child processes pile up",
        why=(
            "A child that has ended stays as a zombie until its parent has waited for it; one that has not "
            "ended runs on."
        ),
        fix="Wait for it, or use one pool of processes for the whole run.",
        sample="process = subprocess.Popen(command)\nprocess.wait()",
        bad="for step in range(steps):\n    subprocess.Popen(command)  # nobody waits",
        seen="The children of the process, those too that have ended and were not waited for.",
        other="Workers that are started once are warm-up.",
    ),
    Remedy(
        kind="child-memory",
        title="The memory of worker processes grows",
        why=(
            "Each worker has its own copy of the dataset object; what its methods keep is kept in every "
            "worker."
        ),
        fix="Keep nothing on the dataset in `__getitem__`; open files there and close them.",
        sample=(
            "def __getitem__(self, i):\n    return load(self.paths[i])  # was: self.cache[i] = load(...)"
        ),
        bad=(
            "class Data(Dataset):\n"
            "    def __getitem__(self, i):\n"
            "        self.cache[i] = load(i)\n"
            "        return self.cache[i]"
        ),
        seen=(
            "The anonymous memory of all children together. A worker that was forked watches itself and "
            "names the line and the container; for one that was started anew (`spawn`), run with "
            "`num_workers=0` to see the line."
        ),
        other=(
            "Memory that a worker shares with its parent is copied little by little as Python counts "
            "references; that levels off."
        ),
    ),
]
