"""A file that is run as a module under a new name each time."""

# kind: growing-container
# line: 17
import importlib.util
import sys
import tempfile
from pathlib import Path

path = Path(tempfile.mkdtemp()) / "experiment.py"
path.write_text("TABLE = list(range(500))\n\n\ndef step(x):\n    return x + TABLE[3]\n")


def load(name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # <-
    spec.loader.exec_module(module)
    return module


total = 0
for i in range(3000):
    total = load(f"experiment_{i}").step(total) + sum(range(5000)) % 7
print(total)
