"""Kernels that Numba compiles, without the GIL and cached on disk.

Importing one of these modules loads Numba, so it is done by the function that first needs it. The first time
on a machine that takes some seconds, in which a terminal is told what is going on.
"""

import sys
from typing import Any

from numba.core import event


class _Teller(event.Listener):
    """Says that kernels are compiled, once a process: they are not where the cache has them."""

    said = False

    def on_start(self, event: Any) -> None:
        compiled = getattr(event.data.get("dispatcher"), "py_func", None)
        own = str(getattr(compiled, "__module__", "")).startswith(__name__)
        if own and not self.said and sys.stderr is not None and sys.stderr.isatty():
            self.said = True
            print("Penstock compiles its kernels, once on this machine: some seconds ...", file=sys.stderr)

    def on_end(self, event: Any) -> None:
        """The others follow, without a word."""


event.register("numba:compile", _Teller())  # type: ignore[no-untyped-call]
