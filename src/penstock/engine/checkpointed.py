"""The state of an iteration by the names that torch, Grain and Orbax have for it."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable
from typing import Any

FILE = "penstock.json"
"""Where Orbax keeps the state, in the folder that it gives."""


class Checkpointed(ABC):
    """An iteration whose state can be taken and loaded."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Where it stands, as plain data."""

    @abstractmethod
    def load_state_dict(self, state_dict: Any) -> None:
        """Go on where another iteration of the same pipeline stood."""

    def state_dict(self) -> dict[str, Any]:
        """The same as `state()`, by torch's name for it.

        >>> import penstock as ps
        >>> ds = ps.Dataset.range(5)
        >>> it, other = ds.iterate(), ds.iterate()
        >>> int(next(it)), int(next(it))
        (0, 1)
        >>> other.load_state_dict(it.state_dict())
        >>> [int(x) for x in other]
        [2, 3, 4]
        """
        return self.state()

    def get_state(self) -> bytes:
        """The state as JSON, by Grain's name for it.

        >>> import penstock as ps
        >>> it = ps.Dataset.range(5).iterate()
        >>> it.set_state(it.get_state())
        >>> int(next(it))
        0
        """
        return json.dumps(self.state()).encode()

    def set_state(self, state: Any) -> None:
        """The same as `load_state_dict`, by Grain's name for it; `state` may be JSON.

        >>> import penstock as ps
        >>> it = ps.Dataset.range(5).iterate()
        >>> before = it.get_state()
        >>> int(next(it))
        0
        >>> it.set_state(before)
        >>> int(next(it))
        0
        """
        self.load_state_dict(state)

    def start_prefetch(self) -> None:  # noqa: B027
        """Nothing: what is fetched ahead begins with the first element. Grain's handler for Orbax calls it.

        >>> import penstock as ps
        >>> ps.Dataset.range(5).iterate().start_prefetch()
        """

    async def save(self, directory: Any) -> Awaitable[None]:
        """Write the state into a folder of Orbax's, as its `StatefulCheckpointable` does."""
        text = json.dumps(self.state())  # now: what comes meanwhile is not in it

        async def write() -> None:
            folder = await directory.await_creation()
            (folder / FILE).write_text(text)

        return write()

    async def load(self, directory: Any) -> Awaitable[None]:
        """Go on from the state in a folder of Orbax's."""

        async def read() -> None:
            self.load_state_dict((directory / FILE).read_text())

        return read()
