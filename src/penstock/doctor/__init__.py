"""Is it a leak, whose is it, and what to do: watches a training loop.

`penstock doctor train.py` runs a script and watches it; `ps.doctor.watch()` does the same around a part of a
program; the fixture `no_leak` does it in a test. How it comes to its verdict is told in `docs/doctor.md`.
"""

from __future__ import annotations

from penstock.doctor.findings import Diagnosis, Finding
from penstock.doctor.watch import Watch, watch

__all__ = ["Diagnosis", "Finding", "Watch", "watch"]
