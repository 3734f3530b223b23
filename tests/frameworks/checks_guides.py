"""The code of a guide that needs torch runs; run by `test_guides.py`, in a process of its own."""

from __future__ import annotations

from frameworks.running import run_checks, run_guide


def given_the_side_of_dataloader_then_it_runs() -> None:
    run_guide("coming-from-dataloader.md")


if __name__ == "__main__":
    run_checks(globals(), "checks_guides.py")
