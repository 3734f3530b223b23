"""What is round a function here is round it in worker processes; what modules do when they are imported."""

from __future__ import annotations

import importlib
import importlib.util
import os
import random
import resource
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from random import random as drawn
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.random import rand

import penstock as ps
from engine.leftovers import children
from penstock.engine.processes import serving as serving_module
from penstock.engine.processes.server_link import Server, Threaded, apart
from penstock.engine.processes.serving import Serving, serving
from penstock.functions.effects import effects

pytestmark = pytest.mark.usefixtures("one_server")

Write = Callable[[str, str], Any]


def in_workers(function: Callable[[Any], Any], count: int = 3, calls: int = 1) -> list[Any]:
    ds = ps.Dataset.range(count).map(function, num_parallel_calls=calls, executor="processes")
    return [x.item() if isinstance(x, np.generic) else x for x in ds]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Writes a module of a user, and imports it."""
    monkeypatch.syspath_prepend(str(tmp_path))
    written: list[str] = []

    def write(name: str, source: str) -> ModuleType:
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(source))
        written.append(name)
        importlib.invalidate_caches()
        return importlib.import_module(name)

    yield write
    for name in written:
        sys.modules.pop(name, None)
        apart.discard(name)


@pytest.mark.parametrize("draw", [drawn, random.random, rand, lambda: random.random(), np.random.rand])
def test_numbers_of_generators_of_modules_are_others_in_each_worker(draw: Callable[[], float]) -> None:
    assert len(set(in_workers(lambda x: draw(), count=60, calls=2))) == 60


def test_numbers_of_torch_are_others_in_each_worker_and_pass() -> None:
    torch = pytest.importorskip("torch")

    def draws(x: Any) -> float:
        return float(torch.rand((), dtype=torch.float64))

    assert len({number for _ in range(2) for number in in_workers(draws, count=60, calls=2)}) == 120
    assert "draws from torch" in effects([draws])
    assert effects([lambda x: torch.sin(x)]) == ""


def test_given_a_variable_that_is_set_then_modules_that_are_imported_after_that_see_it(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert in_workers(lambda x: x) == [0, 1, 2]  # there is a server
    monkeypatch.setenv("PENSTOCK_OF_A_TEST", "7")
    monkeypatch.setattr(sys, "argv", ["train.py", "--size", "70"])
    module = write(
        "sees_variables",
        """
        import os, sys
        SIZES = [object(), int(os.environ.get("PENSTOCK_OF_A_TEST", 0)) + int(sys.argv[2])]
        def times(x):
            return x * SIZES[1]
        """,
    )
    assert in_workers(module.times) == [0, 77, 154]


def test_given_a_module_that_ends_python_when_it_is_imported_elsewhere_then_the_server_stays(
    write: Write,
) -> None:
    module = write(
        "ends_python",
        f"""
        import os, sys
        if os.getpid() != {os.getpid()}:
            sys.exit(2)
        def plus(x):
            return x + 1
        """,
    )
    assert in_workers(lambda x: x) == [0, 1, 2]
    server = serving.server()
    with pytest.raises(
        ps.errors.PenstockError, match="could not be loaded in a worker process: SystemExit: 2"
    ):
        in_workers(module.plus)
    assert serving.server() is server and server.alive


def test_given_modules_that_start_threads_then_the_server_does_not_fork_with_them(write: Write) -> None:
    source = """
        import threading
        LOCK = threading.Lock()
        LOCK.acquire()
        def hold():
            threading.Event().wait()
        threading.Thread(target=hold, daemon=True).start()
        def threads(x):
            return threading.active_count()
    """
    one, other = write("starts_a_thread", source), write("starts_another", source)
    assert in_workers(lambda x: min(one.threads(x), other.threads(x))) == [3, 3, 3]  # each has its own
    assert apart >= {"starts_a_thread", "starts_another"}
    (server,) = (pid for pid in children() if pid == serving.server()._process.pid)
    status = Path(f"/proc/{server}/status").read_text()
    assert "Threads:\t1\n" in status


def test_given_a_server_that_may_start_no_process_then_that_is_said_and_it_stays() -> None:
    server = Server()
    try:
        server.load([], lambda: False)
        pid, (soft, hard) = server._process.pid, resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (8, hard))
        with pytest.raises(OSError, match="Too many open files"):
            server.fork(lambda: False, 2)
        assert server.alive
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
        (forked,) = server.fork(lambda: False)
        forked.link.close()
        for descriptor in (forked.ended, forked.status):
            os.close(descriptor)
    finally:
        server.end()


def test_given_no_descriptors_for_workers_then_the_error_says_what_could_not_be_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(*_: Any) -> Any:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(Server, "fork", refused)
    with pytest.raises(ps.errors.PenstockError, match=r"no worker process could be started: .*Too many open"):
        in_workers(lambda x: x)


def test_given_a_server_that_is_lost_then_the_element_is_not_blamed(tmp_path: Path) -> None:
    def kills_the_server(x: Any) -> Any:
        for count in range(3):
            mark = tmp_path / str(count)
            if x == 1 and not mark.exists():
                mark.touch()
                os.kill(os.getppid(), 9)
        return x

    assert in_workers(kills_the_server) == [0, 1, 2]


def test_given_a_server_with_threads_then_who_asked_meanwhile_gets_no_worker_of_it(write: Write) -> None:
    source = "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    module = write("holds_a_thread", source)
    server = Server()
    try:
        with pytest.raises(Threaded):
            server.load([module.__name__], lambda: False)
        with pytest.raises(Threaded):
            server.fork(lambda: False)
    finally:
        server.end()


def test_given_servers_with_threads_alone_then_they_end_with_the_last_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(serving_module, "LINGER", 0.0)
    of_its_own = Serving()
    of_its_own.use()
    threaded = of_its_own.server()
    threaded.is_threaded = True
    of_its_own.lost(of_its_own.server())
    assert threaded.alive
    of_its_own.leave()
    assert not threaded.alive


def test_given_modules_of_a_package_that_starts_threads_then_one_other_server_is_enough(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "thread_at_import"
    package.mkdir()
    (package / "__init__.py").write_text(
        "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    )
    for number in range(5):
        (package / f"part{number}.py").write_text(f"def plus(x):\n    return x + {number}\n")
    parts = "\n".join(f"from thread_at_import.part{k} import plus as plus{k}" for k in range(5))
    total = " + ".join(f"plus{k}(x)" for k in range(5))
    module = write("uses_the_package", f"{parts}\ndef total(x):\n    return {total}\n")
    with ps.Dataset.range(9).map(lambda x: x, num_parallel_calls=1, executor="processes").iterate() as it:
        first = [int(next(it)) for _ in range(3)]
        assert in_workers(module.total) == [10, 15, 20]
        assert first + [int(x) for x in it] == list(range(9))
        assert "lost" not in str(it.report())  # its workers stay
    apart.discard("thread_at_import")
    for name in [name for name in sys.modules if name.startswith("thread_at_import")]:
        del sys.modules[name]


class TestInterpreter:
    def test_warnings_of_modules_when_they_are_imported_are_theirs(self, write: Write) -> None:
        with warnings.catch_warnings(action="ignore"):
            module = write(
                "warns_at_import",
                """
                import warnings
                warnings.warn("old", DeprecationWarning)
                class Mine(UserWarning):
                    pass
                warnings.simplefilter("ignore", Mine)
                def quiet(x):
                    warnings.warn("mine", Mine)
                    return x
                """,
            )
        with warnings.catch_warnings():
            warnings.simplefilter("error", (DeprecationWarning, FutureWarning))  # type: ignore[arg-type]
            warnings.simplefilter("error", DeprecationWarning)
            warnings.simplefilter("ignore", module.Mine)
            assert in_workers(module.quiet) == [0, 1, 2]

    @pytest.mark.parametrize(("message", "fails"), [("", True), ("DEP.*d$", True), ("recated", False)])
    def test_warnings_that_are_errors_are_errors_there(self, message: str, fails: bool) -> None:
        def warns(x: Any) -> Any:
            warnings.warn("deprecated", DeprecationWarning, stacklevel=1)
            return x

        with warnings.catch_warnings(action="ignore"):
            warnings.filterwarnings("error", message=message)
            if fails:
                with pytest.raises(ps.errors.FunctionError, match="deprecated"):
                    in_workers(warns)
            else:
                assert in_workers(warns) == [0, 1, 2]

    def test_the_recursion_limit_is_the_same(self) -> None:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(12_345)
        try:
            assert in_workers(lambda x: sys.getrecursionlimit()) == [12_345] * 3
        finally:
            sys.setrecursionlimit(limit)

    def test_given_folders_that_are_paths_in_the_search_path_then_workers_start(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        serving.lost(serving.server())
        monkeypatch.setattr(sys, "path", [*sys.path, tmp_path])  # Python passes over it
        assert in_workers(lambda x: x) == [0, 1, 2]

    @pytest.mark.parametrize(
        "how", ["sys.stdout.close(); sys.stdout = None", "os.mkdir('d'); os.chdir('d'); os.rmdir('../d')"]
    )
    def test_given_a_program_without_output_or_folder_then_workers_work(
        self, tmp_path: Path, how: str
    ) -> None:
        script = f"""
            import os, sys
            import penstock as ps
            {how}
            ds = ps.Dataset.range(3).map(lambda x: x + 1, num_parallel_calls=1, executor="processes")
            sys.exit(sum(int(x) for x in ds))
        """
        command = [sys.executable, "-c", textwrap.dedent(script)]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert (ran.returncode, ran.stderr) == (6, "")


@pytest.mark.parametrize("kind", ["Pair", "Box"])
def test_given_elements_of_a_class_that_workers_cannot_import_then_they_arrive_as_such(
    kind: str, tmp_path: Path
) -> None:
    file = tmp_path / "loaded_by_its_file.py"
    file.write_text(
        "from typing import NamedTuple\n"
        "class Pair(NamedTuple):\n    left: int\n    right: int\n"
        "class Box:\n    def __init__(self, left, right):\n        self.left = left\n"
    )
    spec = importlib.util.spec_from_file_location("loaded_by_its_file", file)
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        made = getattr(module, kind)
        rows = ps.Dataset.from_generator(lambda: (made(x, x) for x in range(300)))
        ds = rows.map(lambda *row: row[0], num_parallel_calls=2, executor="processes")
        with ds.iterate() as it:
            got = list(it)
            assert "in this process" not in str(it.report())
        assert [int(getattr(one, "left", one)) for one in got] == list(range(300))
        assert kind == "Pair" or all(type(one) is made for one in got)
    finally:
        del sys.modules["loaded_by_its_file"]
