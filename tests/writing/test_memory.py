"""Writing stays in its budget, as seen from outside; and leaves no thread, no descriptor and no byte."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import penstock as ps
from engine.leftovers import descriptors

MIB = 1 << 20

SCRIPT = """
import gc, json, sys
from pathlib import Path
import numpy as np
import penstock as ps
from leak.measured import status

def image(i):
    return {"image": np.full((256, 256, 3), i, np.uint8).tobytes(), "pixels": np.full(4096, i), "i": i}

def write(count, folder):
    compression = sys.argv[2] or None
    ds = ps.Dataset.range(count).map(image)
    return ds.write_tfrecord(folder, shards=3, compression=compression, memory=int(sys.argv[3]))

write(30, sys.argv[1] + "/first")  # whatever is loaded once is loaded now
gc.collect()
idle = status("VmRSS")
Path("/proc/self/clear_refs").write_text("5")
written = write(1500, sys.argv[1] + "/second")
peak = status("VmHWM")
print(json.dumps({"peak": peak - idle, "after": status("VmRSS") - idle, "elements": written.elements}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("compression", ["", "GZIP"])
@pytest.mark.parametrize("budget", [8 * MIB, 32 * MIB])
def test_given_a_budget_when_300_mebibytes_are_written_then_it_holds(
    compression: str, budget: int, tmp_path: Path
) -> None:
    words = [sys.executable, "-c", SCRIPT, str(tmp_path), compression, str(budget)]
    here = str(Path(__file__).parents[1])
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, timeout=300, env={"PYTHONPATH": here}
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["elements"] == 1500
    assert figures["peak"] <= budget * 1.1 + 24 * MIB, figures


@pytest.mark.parametrize("compression", [None, "ZLIB"])
def test_when_written_or_failed_then_nothing_is_left_behind(compression: str | None, tmp_path: Path) -> None:
    def fail(x: int) -> dict[str, int]:
        if x == 700:
            raise ValueError("no")
        return {"x": x}

    def write(number: int) -> None:
        ds = ps.Dataset.range(1000).map(fail)
        with pytest.raises(ps.errors.FunctionError):
            ds.write_tfrecord(tmp_path / f"bad{number}", shards=9, compression=compression)
        ds.take(600).write_tfrecord(tmp_path / f"good{number}", shards=9, compression=compression)

    write(0)
    threads, files = set(threading.enumerate()), descriptors()
    write(1)
    assert set(threading.enumerate()) <= threads
    assert descriptors() <= files
