"""A memory cgroup of our own, version 1 or 2: the judge that kills whoever holds too much."""

import os
from pathlib import Path

UNLIMITED = -1


class Cgroup:
    """One cgroup under the caller's; made by `make()`, gone after `remove()`."""

    def __init__(self, folder: Path, version: int) -> None:
        self._folder = folder
        self.version = version

    def add(self, pid: int) -> None:
        """Put a process in: what it allocates from now on is charged here."""
        (self._folder / "cgroup.procs").write_text(str(pid))

    def charged(self) -> int:
        """Bytes charged now: memory, page cache and kernel memory."""
        name = "memory.current" if self.version == 2 else "memory.usage_in_bytes"
        return int((self._folder / name).read_text())

    def limit(self, size: int) -> None:
        """Let it hold `size` bytes and no more; swap counts, where there is any."""
        if self.version == 2:
            (self._folder / "memory.max").write_text(str(size))
            self._write_if_there("memory.swap.max", "0")
        else:
            (self._folder / "memory.limit_in_bytes").write_text(str(size))
            self._write_if_there("memory.memsw.limit_in_bytes", str(size))

    def kills(self) -> int:
        """How many processes the kernel has killed here for want of memory."""
        name = "memory.events" if self.version == 2 else "memory.oom_control"
        lines = (self._folder / name).read_text().splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))

    def remove(self) -> None:
        """Give the cgroup back; its processes have ended by now."""
        self._folder.rmdir()

    def _write_if_there(self, name: str, value: str) -> None:
        path = self._folder / name
        if path.exists():
            path.write_text(value)


def make(name: str) -> Cgroup | None:
    """Make a cgroup in which memory can be limited, or return None where that is not allowed."""
    for folder, version in _places():
        made = folder / f"{name}-{os.getpid()}"
        try:
            if version == 2 and "memory" not in (folder / "cgroup.subtree_control").read_text():
                (folder / "cgroup.subtree_control").write_text("+memory")
            made.mkdir()
        except OSError:
            continue
        limit = made / ("memory.max" if version == 2 else "memory.limit_in_bytes")
        if os.access(limit, os.W_OK):
            return Cgroup(made, version)
        made.rmdir()
    return None


def _places() -> list[tuple[Path, int]]:
    """Where a cgroup could be made: below our own first, then at the root of the mount."""
    own: dict[str, str] = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        own.update(dict.fromkeys(controllers.split(","), path))
    places = []
    for line in Path("/proc/mounts").read_text().splitlines():
        _, mount, kind, options, *_ = line.split()
        if kind == "cgroup2":
            version, path = 2, own.get("", "/")
        elif kind == "cgroup" and "memory" in options.split(","):
            version, path = 1, own.get("memory", "/")
        else:
            continue
        places += [(Path(mount) / path.lstrip("/"), version), (Path(mount), version)]
    return places
