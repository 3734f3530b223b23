"""Ray, once it is installed and connected to a cluster."""

from __future__ import annotations

from typing import Any

from penstock.errors import PenstockError
from penstock.graph import checks
from penstock.io.formats.optional import optional

ENGINES = ("ray",)
"""What may run a pipeline on other machines."""


def check_engine(engine: Any, call: str) -> None:
    """An error for an engine that there is not, or that is not installed."""
    checks.one_of(engine, ENGINES, call)
    ray()


def ray() -> Any:
    """The library; an error that says what to install if it is not there."""
    return optional("ray", "ray")


def connected(where: str) -> Any:
    """The library, connected to a cluster: Penstock starts none, so that it need not end one."""
    library = ray()
    if not library.is_initialized():
        raise PenstockError(
            f"{where}: expected this process to be connected to a Ray cluster. Call ray.init() first, which "
            f"starts one on this machine, or ray.init(address='auto') for one that runs already."
        )
    return library
