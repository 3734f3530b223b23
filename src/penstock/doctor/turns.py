"""How long a thread of Python works before another has its turn.

The clock is a thread of its own, and a loop in Python lets it wait for five milliseconds each time. Of a
script that is over in a tenth of a second there would be too few samples.
"""

from __future__ import annotations

import sys

SHORT = 0.0005


class Turns:
    """Shortens them for a while."""

    def __init__(self) -> None:
        self._were: float | None = None

    def shorten(self) -> None:
        """From now on, until `restore`."""
        if sys.getswitchinterval() > SHORT:
            self._were = sys.getswitchinterval()
            sys.setswitchinterval(SHORT)

    def restore(self) -> None:
        """As before, unless the script has set them meanwhile."""
        if self._were is not None and abs(sys.getswitchinterval() - SHORT) < SHORT / 10:
            sys.setswitchinterval(self._were)
        self._were = None
