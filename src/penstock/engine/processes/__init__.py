"""Worker processes: a server that forks them, slabs of shared memory, and what happens when one dies."""
